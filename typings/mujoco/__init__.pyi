# MuJoCo's compiled modules come without types: to the type checker every name in them is Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
