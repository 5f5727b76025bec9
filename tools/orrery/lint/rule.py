# SPDX-License-Identifier: Apache-2.0
"""What a rule is: an id, a sentence, an example that it finds, and the search."""

from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Rule:
    name: str
    about: str
    example: str
    search: Callable
