"""The arm's learning curves: runs, resumable; tables, figures and films of them."""
