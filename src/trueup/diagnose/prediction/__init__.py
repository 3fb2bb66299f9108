"""Success on the robot before it is seen: simulation and few trials, weighed against each other."""

from trueup.diagnose.prediction.belief import Belief as Belief
from trueup.diagnose.prediction.belief import believed as believed
from trueup.diagnose.prediction.model import Errors as Errors
from trueup.diagnose.prediction.model import Joined as Joined
from trueup.diagnose.prediction.needed import trials_alone as trials_alone
from trueup.diagnose.prediction.needed import trials_more as trials_more
from trueup.diagnose.prediction.outcomes import Outcomes as Outcomes
from trueup.diagnose.prediction.powered import Powered as Powered
from trueup.diagnose.prediction.powered import powered as powered
from trueup.diagnose.prediction.prediction import Forecast as Forecast
from trueup.diagnose.prediction.prediction import Prediction as Prediction
from trueup.diagnose.prediction.prediction import combined as combined
from trueup.diagnose.prediction.prediction import predict as predict
from trueup.diagnose.prediction.ranking import Agreement as Agreement
from trueup.diagnose.prediction.ranking import agreement as agreement
from trueup.diagnose.prediction.ranking import mmrv as mmrv
from trueup.diagnose.prediction.ranking import pearson as pearson
from trueup.diagnose.prediction.ranking import spearman as spearman
from trueup.diagnose.prediction.simulation import Candidate as Candidate
from trueup.diagnose.prediction.trials import Trials as Trials
from trueup.diagnose.prediction.trials import trials_in as trials_in
