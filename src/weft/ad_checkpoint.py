"""Everything about checkpoint: itself, policies, names for them, and what is kept."""

from .transforms.checkpoint import checkpoint, remat
from .transforms.checkpoint_policies import checkpoint_name, checkpoint_policies
from .transforms.saved_residuals import print_saved_residuals, saved_residuals

__all__ = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
]
