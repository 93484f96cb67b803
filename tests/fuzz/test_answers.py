"""A short run of the campaign of answers; the long one is `python -m tests.fuzz.answers`."""

from pathlib import Path

from tests.fuzz.answers import Campaign
from tests.fuzz.setups import Setup, prepared

SETUPS = (
    Setup("llama", "draft", is_flat=True),
    Setup("llama", "draft", n_ctx=24),
    Setup("ending", "ending-draft"),
    Setup("gemma3", "lfm2,llama"),
    Setup("lfm2", "lfm2-draft"),
)


def test_any_answer_is_plain_decodings_whatever_went_before_it(tmp_path: Path) -> None:
    campaign = Campaign(prepared(tmp_path), seed=0, setups=SETUPS)

    for number in range(50):
        campaign.run(number)

    campaign.close()
    assert campaign.faults == []
    assert campaign.counts["accepted"] > 100
