"""A policy on a robot: preflight, control loop, safety envelope; trials and their outcome."""

from trueup.deploy.budget import Budget as Budget
from trueup.deploy.budget import Spread as Spread
from trueup.deploy.budget import budget as budget
from trueup.deploy.deployment import Deployment as Deployment
from trueup.deploy.deployment import NotArmed as NotArmed
from trueup.deploy.deployment import deploy as deploy
from trueup.deploy.flight import Flight as Flight
from trueup.deploy.flight import fly as fly
from trueup.deploy.settle import Settle as Settle
from trueup.deploy.settle import settle as settle
from trueup.deploy.trials import Operator as Operator
from trueup.deploy.trials import Outcomes as Outcomes
from trueup.deploy.trials import Series as Series
from trueup.deploy.trials import attempt as attempt
from trueup.deploy.trials import guard_for as guard_for
from trueup.deploy.wiring.finding import Finding as Finding
from trueup.deploy.wiring.finding import Preflight as Preflight
from trueup.deploy.wiring.miswired import Fault as Fault
from trueup.deploy.wiring.miswired import Miswired as Miswired
from trueup.deploy.wiring.miswired import in_degrees as in_degrees
from trueup.deploy.wiring.preflight import preflight as preflight
