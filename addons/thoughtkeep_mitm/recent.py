"""What is remembered of the last requests, in memory only: agents tell their whole conversation again and again."""

from dataclasses import dataclass, field

from thoughtkeep.bodies import Bodies
from thoughtkeep.dues import Dues
from thoughtkeep.readings import Readings


@dataclass(frozen=True, slots=True)
class Recent:
    """Saves parsing, reading and planning what was parsed, read and planned before; without it nothing is different."""

    bodies: Bodies = field(default_factory=Bodies)
    readings: Readings = field(default_factory=Readings)
    dues: Dues = field(default_factory=Dues)
