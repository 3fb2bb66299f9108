"""The table of verbs. A new one is a module of this folder and a row here.

The module is imported only when its verb is called, so that `trueup --help` answers at once.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verb:
    """A command, and where it is written.

    Attributes:
        words: What is typed after `trueup`; several words where a room has several commands.
        usage: What follows the words, for the list of verbs.
        summary: One line; the first line of the command's docstring.
        module: Module of this folder.
        command: A frozen dataclass there: its fields are the options, its docstring the help, and
            `run()` does it.
    """

    words: str
    usage: str
    summary: str
    module: str
    command: str


VERBS = (
    Verb(
        "demo",
        "",
        "See it work: one grasp in 1,024 randomized worlds.",
        "demo",
        "Demo",
    ),
    Verb(
        "run",
        "[WORLD]",
        "Go round once: from works in sim to works on the robot.",
        "run",
        "RunLoop",
    ),
    Verb(
        "worlds",
        "",
        "List the worlds: robot, scene and task.",
        "worlds",
        "List",
    ),
    Verb(
        "worlds show",
        "WORLD",
        "What a world observes, commands and may have wrong.",
        "worlds",
        "Show",
    ),
    Verb(
        "worlds picture",
        "WORLD",
        "Draw a world, or a mosaic of randomized copies.",
        "pictures",
        "Picture",
    ),
    Verb(
        "worlds video",
        "WORLD",
        "Film randomized copies of a world in motion.",
        "pictures",
        "Video",
    ),
    Verb(
        "space",
        "WORLD",
        "Every number a world may have wrong, gap by gap.",
        "space",
        "ListSpace",
    ),
    Verb(
        "narrow",
        "WORLD",
        "The space to train in next, from what is known of the robot.",
        "narrow",
        "Narrow",
    ),
    Verb(
        "randomize",
        "WORLD",
        "Preview a plan: which worlds it draws, and whether they cover yours.",
        "randomize",
        "Randomize",
    ),
    Verb(
        "simulate",
        "WORLD",
        "Step many randomized copies: how fast, how often it works.",
        "simulate",
        "Simulate",
    ),
    Verb(
        "evaluate",
        "POLICY",
        "Play a policy in many worlds: how often it works, where it fails.",
        "evaluate",
        "Evaluate",
    ),
    Verb(
        "train",
        "WORLD",
        "Train a policy in randomized copies of a world.",
        "train",
        "Train",
    ),
    Verb(
        "generate",
        "WORLD",
        "Make many demonstrations from few, each tried in physics.",
        "generate",
        "Generate",
    ),
    Verb(
        "deploy",
        "POLICY",
        "Try a policy on a robot: how often it works, and where the time goes.",
        "deploy",
        "Deploy",
    ),
    Verb(
        "deploy check",
        "POLICY",
        "Check a robot before a policy moves it: wiring, units, zeros, rate.",
        "deploy",
        "Check",
    ),
    Verb(
        "record",
        "",
        "Record motions of a robot as episodes.",
        "record",
        "Record",
    ),
    Verb(
        "record motions",
        "",
        "List the motions that `trueup record` knows.",
        "motion_list",
        "ListMotions",
    ),
    Verb(
        "replay",
        "EPISODES",
        "Play recorded commands again in a world: how far is it from what happened?",
        "replay",
        "ReplayEpisodes",
    ),
    Verb(
        "identify",
        "EPISODES",
        "Fit parameters of a world to recordings, and say how sure.",
        "identify",
        "Identify",
    ),
    Verb(
        "identify noise",
        "DATA",
        "What each sensor and clock adds, from recordings alone.",
        "noise",
        "Noise",
    ),
    Verb(
        "identify contact",
        "DATA",
        "Friction, mass, size, balance and grip force from contact probes.",
        "probing",
        "Contact",
    ),
    Verb(
        "identify hand-eye",
        "DATA",
        "Zeros of the joints, camera and table, from a thing seen while held.",
        "hand_eye",
        "HandEye",
    ),
    Verb(
        "identify stops",
        "DATA",
        "The zero of a joint, such as the jaw, from where it stops.",
        "hand_eye",
        "Stops",
    ),
    Verb(
        "identify payload",
        "DATA",
        "Weigh what a link carries, from motions with it and without it.",
        "probing",
        "Payload",
    ),
    Verb(
        "identify residual",
        "DATA",
        "Learn what an identified world still misses, where that is worth it.",
        "residual",
        "Residual",
    ),
    Verb(
        "plan",
        "GAPS",
        "What to record next, from a gap report: most recovery a minute first.",
        "plan",
        "Plan",
    ),
    Verb(
        "plan outlook",
        "[WORLD]",
        "Which gaps to expect before any trial, and how to split the effort.",
        "plan",
        "PlanOutlook",
    ),
    Verb(
        "plan enter",
        "WORLD",
        "Take in what was measured by hand: a space that believes it.",
        "plan",
        "PlanEnter",
    ),
    Verb(
        "predict",
        "POLICY...",
        "Success to expect on the robot, from simulation and few trials.",
        "predict",
        "Predict",
    ),
    Verb(
        "diagnose",
        "TRIALS",
        "Which gap costs the success, and how sure, from trials.",
        "diagnose",
        "Diagnose",
    ),
    Verb(
        "failures",
        "DATA",
        "Where trials fail and how, and which labels go along with it.",
        "failures",
        "Failures",
    ),
    Verb(
        "report",
        "",
        "What was found, as one page to show: HTML, JSON and Markdown.",
        "report",
        "ReportFindings",
    ),
    Verb(
        "episodes info",
        "DATA",
        "What a dataset of episodes holds: signals, units, tasks, outcomes.",
        "episodes",
        "EpisodesInfo",
    ),
    Verb(
        "episodes import",
        "SOURCE",
        "Turn recordings in CSV or npz files into a dataset, as a mapping says.",
        "episodes",
        "Import",
    ),
    Verb(
        "episodes convert",
        "DATA",
        "Write a dataset anew: v2.1 as v3.0, other units, few large files.",
        "episodes",
        "Convert",
    ),
    Verb(
        "episodes validate",
        "DATA",
        "Read a dataset from end to end and list everything that is wrong.",
        "episodes",
        "Validate",
    ),
    Verb(
        "participants",
        "",
        "Who takes part, by pseudonym, and what each agreed to.",
        "participants",
        "ListParticipants",
    ),
    Verb(
        "participants add",
        "",
        "Enter a participant and what that person agreed to.",
        "participants",
        "AddParticipant",
    ),
    Verb(
        "participants withdraw",
        "",
        "Withdraw a participant: delete the episodes from datasets, and prove it.",
        "participants",
        "WithdrawParticipant",
    ),
    Verb(
        "participants verify",
        "",
        "Check the receipt of a withdrawal: unchanged, and the person still gone.",
        "participants",
        "VerifyReceipt",
    ),
    Verb(
        "curate",
        "DATASET",
        "Which episodes of a dataset to train on, and why not on the rest.",
        "curate",
        "Curate",
    ),
    Verb(
        "mix",
        "RUNS",
        "What the next demonstrations from the robot are worth, in synthetic ones.",
        "mix",
        "Mix",
    ),
    Verb(
        "rehearse",
        "[REALITY]",
        "Start a robot that hides its truth, for those with none at hand.",
        "rehearse",
        "Rehearse",
    ),
)
