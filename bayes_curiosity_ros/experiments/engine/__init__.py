"""What every experiment shares: settings, jobs, rows, their store, schedule and figures."""
