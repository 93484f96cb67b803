"""The README's picture of the chat: a scripted conversation, as SVG.

`python -m tests.tui.shot` draws it anew. Everything in it is scripted, the clock too, so that it
changes only when the chat looks different; a test says when it is stale.
"""

import asyncio
import html
import os
import re
import tempfile
from pathlib import Path

from edgespec.chat.controller import ChatController
from edgespec.history.keeper import Keeper
from tests.scripted import Script, ScriptedLM
from tests.tui.stage import staged

PICTURE = Path(__file__).parents[2] / "tui" / "screenshot.svg"
SIZE = (112, 33)
QUESTION = "How can a small model make a big one faster, without changing what it says?"
THOUGHT = "They want the idea, then the loop; a picture of it in code would be short enough."
ANSWER = """\
The small model **drafts** a few tokens, the big one checks them all in *one* pass:

```python
while not done:
    draft = small.propose(k)         # cheap guesses
    accepted = big.verify(draft)     # one pass for all of them
    text += draft[:accepted] + big.own_token()
```

1. Reading the weights takes the time: checking five tokens costs little more than making one.
2. A guess that the big model would not have made is **refused**: the text stays its own.

| text | guesses that come true |
|---|---|
| code, quotes | most |
| free prose | some |
"""


def text_of(svg: str) -> list[str]:
    """The words in a picture, which a new version of Textual draws at other places."""
    found = re.findall(r"<text[^>]*>(.*?)</text>", svg, re.DOTALL)
    return [html.unescape(text).replace("\xa0", " ").rstrip() for text in found]


def drawn() -> str:
    """The picture as it is now."""
    return asyncio.run(_drawn())


async def _drawn() -> str:
    with tempfile.TemporaryDirectory() as home:
        os.environ["EDGESPEC_HOME"] = home
        model = ScriptedLM([Script(ANSWER, reasoning=THOUGHT)])
        chat = ChatController(journal=Keeper(Path(home) / "history.db"))
        async with staged(model, size=SIZE, chat=chat) as stage:
            stage.app.theme = "textual-dark"
            pulse = stage.app.screen.feed.pulse
            pulse.clock = lambda: float(len(pulse._seen))  # a second a round, however often drawn
            await stage.say(QUESTION)
            await stage.until_ended()
            await stage.until_shown("free prose")
            pulse.clock = lambda: 60.0
            stage.app.screen.refresh_chrome()
            await stage.pilot.pause(0.2)
            svg = stage.app.export_screenshot(title="edgespec")
    # a picture fetches nothing: without the web fonts the reader's own monospace is taken
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
