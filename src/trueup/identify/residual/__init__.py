"""What no parameter explains, learnt from recordings: a small network that corrects commands."""

from trueup.identify.residual.artefact import LearnedResidual as LearnedResidual
from trueup.identify.residual.effect import SHARE as SHARE
from trueup.identify.residual.effect import ResidualEffect as ResidualEffect
from trueup.identify.residual.judgement import Judgement as Judgement
from trueup.identify.residual.learn import Lesson as Lesson
from trueup.identify.residual.learn import learn_residual as learn_residual
