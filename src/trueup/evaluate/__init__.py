"""A policy over many points: success with intervals, paired comparisons, slices, failures."""

from trueup.evaluate.chance import exact as exact
from trueup.evaluate.chance import jeffreys as jeffreys
from trueup.evaluate.chance import wilson as wilson
from trueup.evaluate.chart import save_chart as save_chart
from trueup.evaluate.comparison import Comparison as Comparison
from trueup.evaluate.comparison import compared as compared
from trueup.evaluate.drawing import save_drawing as save_drawing
from trueup.evaluate.draws import trials as trials
from trueup.evaluate.evaluation import Evaluation as Evaluation
from trueup.evaluate.evaluation import Failure as Failure
from trueup.evaluate.fit import check_fit as check_fit
from trueup.evaluate.fit import piloted as piloted
from trueup.evaluate.play import Begin as Begin
from trueup.evaluate.play import Turn as Turn
from trueup.evaluate.play import Witness as Witness
from trueup.evaluate.play import evaluate as evaluate
from trueup.evaluate.slicing import Bin as Bin
from trueup.evaluate.slicing import Slice as Slice
from trueup.evaluate.slicing import described as described
from trueup.evaluate.slicing import slices as slices
