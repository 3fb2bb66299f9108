"""`trueup worlds`: which there are, and what each is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trueup.cli import show
from trueup.cli.families import families
from trueup.cli.options import Machine, OneWorld
from trueup.worlds import Signal, World, get, names


@dataclass(frozen=True, kw_only=True)
class List(Machine):
    """List the worlds: robot, scene and task.

    `trueup worlds show WORLD` tells more of one; `worlds picture` and `worlds video` show it.
    Your own world is named as FILE.py:CLASS wherever a WORLD is asked for, or as FILE.py where the
    file holds one world.
    """

    def run(self) -> None:
        """Print the table."""
        rows = [_in_short(get(name)) for name in names()]
        if self.json:
            show.print_json(rows)
            return
        columns = show.table(
            "world", "task", "episode", "servos", "parameters", right=("episode", "servos")
        )
        for row in rows:
            columns.add_row(
                row["name"],
                row["summary"],
                f"{show.number(row['episode_s'])} s",
                str(row["servos"]),
                f"{row['parameters']} of {row['catalogue']}",
            )
        out = show.console()
        out.print(columns)
        out.print("parameters: how many differ by default, of those in the catalogue.", style="dim")


@dataclass(frozen=True, kw_only=True)
class Show(OneWorld, Machine):
    """What a world observes, commands and may have wrong.

    trueup worlds show so101/lift
    """

    def run(self) -> None:
        """Print the tables."""
        world = self.opened_world()
        facts = _in_full(world)
        if self.json:
            show.print_json(facts)
            return
        out = show.console()
        out.print(f"[bold]{world.name}[/bold]  {world.summary}")
        out.print(_times(world))
        for part in (
            _signals("observation", facts["observations"]),
            _commands(facts["commands"]),
            _signals("known to the simulator alone", facts["privileged"]),
            _effects(facts["effects"]),
        ):
            out.print()
            if part.row_count:
                out.print(part)
        out.print()
        out.print(f"cameras: {', '.join(facts['cameras']) or 'none'}")
        out.print("default: differs unless told otherwise; optional: only where asked for.")
        show.say(f"`{show.command('trueup', 'space', self.world)}` gives the numbers.")


def _in_short(world: World) -> dict[str, Any]:
    return {
        "name": world.name,
        "summary": world.summary,
        "episode_s": world.episode_s,
        "servos": len(world.commands),
        "parameters": len(world.space),
        "catalogue": len(world.catalogue),
    }


def _in_full(world: World) -> dict[str, Any]:
    model = world.model
    return {
        **_in_short(world),
        "control_period_s": world.control_period_s,
        "physics_period_s": float(model.opt.timestep),
        "hold_s": world.hold_s,
        "observations": _sized(world, world.observations),
        "privileged": _sized(world, world.privileged),
        "commands": [
            {"name": name, "unit": "rad", "limits": _limits(world, i)}
            for i, name in enumerate(world.commands)
        ],
        "cameras": [model.camera(i).name for i in range(model.ncam)],
        "effects": [
            {
                "effect": type(effect).__name__,
                "optional": effect.optional,
                "parameters": [p.name for p in effect.parameters(model)],
                "patterns": [
                    f.pattern
                    for f in families(effect.parameters(model), world.space, by_numbers=False)
                ],
            }
            for effect in world.effects()
        ],
    }


def _sized(world: World, signals: tuple[Signal, ...]) -> list[dict[str, Any]]:
    sizes = world.sizes(signals)
    return [
        {
            "name": signal.name,
            "unit": signal.unit,
            "size": sizes[signal.name],
            "sensors": list(signal.sensors),
        }
        for signal in signals
    ]


def _limits(world: World, i: int) -> list[float] | None:
    model = world.model
    return model.actuator_ctrlrange[i].tolist() if model.actuator_ctrllimited[i] else None


def _times(world: World) -> str:
    period, physics = world.control_period_s, world.model.opt.timestep
    return (
        f"Episodes last {show.number(world.episode_s)} s. A command every "
        f"{show.number(1e3 * period)} ms ({show.number(1 / period)} Hz), a physics step every "
        f"{show.number(1e3 * physics)} ms.\n"
        f"A success counts when it has lasted {show.number(world.hold_s)} s."
    )


def _signals(title: str, signals: list[dict[str, Any]]) -> Any:
    rows = show.table(title, "unit", "size", right=("size",))
    for signal in signals:
        rows.add_row(signal["name"], show.unit(signal["unit"]), str(signal["size"]))
    return rows


def _commands(commands: list[dict[str, Any]]) -> Any:
    rows = show.table("command", "unit", "limits")
    for command in commands:
        limits = command["limits"]
        rows.add_row(command["name"], command["unit"], show.span(*limits) if limits else "none")
    return rows


def _effects(effects: list[dict[str, Any]]) -> Any:
    rows = show.table("effect", "parameters", "")
    for effect in effects:
        kind = "optional" if effect["optional"] else "default"
        rows.add_row(effect["effect"], ", ".join(effect["patterns"]), kind)
    return rows
