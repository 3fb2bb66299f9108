"""People in recordings: who agreed to what, what may be exported, and what must be deleted."""

from trueup.episodes.consent.covered import Covered as Covered
from trueup.episodes.consent.covered import check_for_people as check_for_people
from trueup.episodes.consent.covered import covered as covered
from trueup.episodes.consent.covered import people_in as people_in
from trueup.episodes.consent.participant import Consent as Consent
from trueup.episodes.consent.participant import Participant as Participant
from trueup.episodes.consent.participant import Purpose as Purpose
from trueup.episodes.consent.participant import check_pseudonym as check_pseudonym
from trueup.episodes.consent.receipt import Receipt as Receipt
from trueup.episodes.consent.receipt import Removal as Removal
from trueup.episodes.consent.register import Admission as Admission
from trueup.episodes.consent.register import Register as Register
from trueup.episodes.consent.withdrawal import verified as verified
from trueup.episodes.consent.withdrawal import withdrawn as withdrawn
