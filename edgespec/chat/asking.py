"""What the next answer is asked with: options, and what they mean for the model that is loaded."""

from dataclasses import replace

from edgespec.api.types import Description, Options
from edgespec.chat.measures import draft_state, usual_drafter, woken
from edgespec.chat.turns import DraftState
from edgespec.events import Stats


class Asking:
    """The options of a chat; what the last answers showed of them."""

    def __init__(self, options: Options | None) -> None:
        self.options = options or Options()
        self.description: Description | None = None
        """Of the model that is loaded, or was last."""
        self._drafter_in_force = ""
        self._refusal = ""
        self._is_forced = False

    @property
    def draft(self) -> DraftState:
        """What the next answer drafts with; before a model is there, what was chosen."""
        return draft_state(
            self.options,
            self.description,
            self._drafter_in_force,
            self._refusal,
            is_forced=self._is_forced,
        )

    def set_drafter(self, name: str | None, *, is_forced: bool = False) -> None:
        """Draft with `name` from the next answer on; None: as loaded.

        `is_forced`: at every step, not only where it seems worth it.
        """
        self.options = replace(self.options, drafter=name)
        self._refusal, self._is_forced = "", is_forced

    def force_draft(self) -> None:
        """Draft at every step."""
        self.set_drafter(woken(self.draft, self.options, self.description), is_forced=True)

    def toggle_draft(self) -> DraftState:
        """From drafts where they pay to one at every step, to none, and back."""
        draft = self.draft
        if draft.is_forced:
            self.set_drafter("none")
        elif self.options.drafter == "none" or draft.word == "NONE":
            self.set_drafter(woken(draft, self.options, self.description))
        else:
            self.force_draft()
        return self.draft

    @property
    def _usual_drafter(self) -> str:
        """Who drafts where drafts are wanted and none is forced."""
        return usual_drafter(self.options, self.description)

    def _see_drafter(self, stats: Stats) -> None:
        self._drafter_in_force, self._refusal = stats.drafter, stats.drafter_note

    @property
    def is_thinking_on(self) -> bool:
        """Whether the next answer may think; false where the template has no such switch."""
        can_think = self.description is not None and self.description.can_think
        return can_think and self.options.think is not False

    def set_think(self, is_on: bool) -> None:
        """Think, or not, from the next answer on."""
        self.options = replace(self.options, think=is_on)
