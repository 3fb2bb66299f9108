"""A policy as a folder: a network, the contract it was trained under, and where it comes from."""

from trueup.policies.chunks import Ahead as Ahead
from trueup.policies.chunks import Chunk as Chunk
from trueup.policies.commands import Drive as Drive
from trueup.policies.commands import Memory as Memory
from trueup.policies.contract import Contract as Contract
from trueup.policies.interface import Feature as Feature
from trueup.policies.interface import Interface as Interface
from trueup.policies.network import Layer as Layer
from trueup.policies.network import Network as Network
from trueup.policies.network import network_bytes as network_bytes
from trueup.policies.network import network_layers as network_layers
from trueup.policies.opening import LEROBOT as LEROBOT
from trueup.policies.opening import open_policy as open_policy
from trueup.policies.policy import Pilot as Pilot
from trueup.policies.policy import Policy as Policy
from trueup.policies.provenance import Provenance as Provenance
