"""What a hand learns by touching and carrying: friction, mass, grip force, payloads, how sure."""

from trueup.identify.probing.contact import identify_contact as identify_contact
from trueup.identify.probing.hand_eye import identify_hand_eye as identify_hand_eye
from trueup.identify.probing.payload import Payload as Payload
from trueup.identify.probing.payload import identify_payload as identify_payload
from trueup.identify.probing.stops import identify_stops as identify_stops
