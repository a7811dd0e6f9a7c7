"""Games with counters as a core times a grid: layers of points, their programs, and the sweeps that solve them."""
