"""The host's end of the bus: ports, and drivers that talk to six servos in ticks."""

from trueup.hardware.feetech.host.driver import IDS as IDS
from trueup.hardware.feetech.host.driver import Driver as Driver
from trueup.hardware.feetech.host.lerobot import LerobotDriver as LerobotDriver
from trueup.hardware.feetech.host.port import check_port as check_port
from trueup.hardware.feetech.host.sdk import SdkDriver as SdkDriver
from trueup.hardware.feetech.host.state import State as State
