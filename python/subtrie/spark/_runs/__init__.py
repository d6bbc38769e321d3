"""The folder of a run: tables, manifest, formats of lakes, differences, and expectations."""
