"""What can be wrong with a bag."""

from __future__ import annotations

from bayes_curiosity_ros.errors import BayesCuriosityError


class BagError(BayesCuriosityError):
    """A bag is missing, foreign, of another task, or cannot be written."""
