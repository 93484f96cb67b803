"""A stranger's drafter of trees behind the guard: see `guard`."""

from collections.abc import Sequence

from edgespec.core import Tokens
from edgespec.drafters.arms import Bucket, Heard, Offer, Rates
from edgespec.drafters.guard import Breach, Guarded, bucket_in, frozen


class GuardedTrees(Guarded):
    """Also implements `arms.Branching`."""

    @property
    def buckets(self) -> Sequence[Bucket]:
        """The drafter's own."""
        buckets: Sequence[Bucket] = self._drafter.buckets
        return buckets

    @property
    def best(self) -> Sequence[Offer]:
        """The drafter's own."""
        best: Sequence[Offer] = self._drafter.best
        return best

    def offers(self, context: Tokens, most: int, rates: Rates, heard: Heard) -> Sequence[Offer]:
        """See `arms.Branching`; none once it has broken its contract."""
        if self._is_off:
            return ()
        n = len(self.buckets)

        def heard_checked(bucket: int, is_hit: bool) -> None:
            heard(bucket_in(bucket, n), is_hit)

        def offered() -> Sequence[Offer]:
            found = self._drafter.offers(frozen(context), most, rates, heard_checked)
            return [_checked(Offer(*offer), most) for offer in found]

        return self._tried(offered, ())

    def way(self, n_nodes: int, depth: int) -> Sequence[int]:
        """See `arms.Branching`."""
        n = len(self.buckets)
        return self._tried(
            lambda: [bucket_in(bucket, n) for bucket in self._drafter.way(n_nodes, depth)], ()
        )


def _checked(offer: Offer, most: int) -> Offer:
    if not 1 <= offer.n_nodes <= most:
        raise Breach(f"offered {offer.n_nodes} nodes where 1 to {most} were asked for")
    if not 0 <= offer.tokens <= offer.n_nodes:
        raise Breach(f"promised {offer.tokens} tokens of {offer.n_nodes} nodes")
    return offer
