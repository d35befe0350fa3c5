"""A bonus on top of anyone's environments: `gymnasium` and `sb3`, each imported on its own."""
