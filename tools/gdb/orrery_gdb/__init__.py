# SPDX-License-Identifier: Apache-2.0
"""The extension of gdb; orrery-gdb.py loads it and says what it can do."""
