"""The wire formats, one module each. A new one is a module and a line here."""

from thoughtkeep.formats.base import Assembler, Earlier, Endpoint, Format
from thoughtkeep.formats.chat import ChatFormat
from thoughtkeep.formats.gemini import GeminiFormat
from thoughtkeep.formats.messages import MessagesFormat
from thoughtkeep.formats.responses import ResponsesFormat

FORMATS: tuple[Format, ...] = (ChatFormat(), GeminiFormat(), MessagesFormat(), ResponsesFormat())

__all__ = ["FORMATS", "Assembler", "Earlier", "Endpoint", "Format"]
