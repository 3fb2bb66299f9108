"""The servo bus of an SO-101: its bytes, an emulated arm that speaks them, and drivers for both."""

from trueup.hardware.feetech.arm import Arm as Arm
from trueup.hardware.feetech.calibration import Calibration as Calibration
from trueup.hardware.feetech.calibration import Scale as Scale
from trueup.hardware.feetech.calibration import calibration_json as calibration_json
from trueup.hardware.feetech.calibration import doubts as doubts
from trueup.hardware.feetech.calibration import model_ranges as model_ranges
from trueup.hardware.feetech.calibration import read_calibration as read_calibration
from trueup.hardware.feetech.emulator import EmulatedArm as EmulatedArm
from trueup.hardware.feetech.emulator import serve_bus as serve_bus
from trueup.hardware.feetech.faults import Faults as Faults
from trueup.hardware.feetech.line import Line as Line
from trueup.hardware.feetech.mounting import Mounting as Mounting
