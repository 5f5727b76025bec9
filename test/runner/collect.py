# SPDX-License-Identifier: Apache-2.0
"""Finds the jobs of a lane, once everything it needs is built."""

import binaries


def all_binaries(lane, settings):
    return _jobs_of_binaries(lane, settings, lambda folder: True)


def all_but_sim(lane, settings):
    return _jobs_of_binaries(lane, settings, lambda folder: folder != "sim")


def only_sim(lane, settings):
    return _jobs_of_binaries(lane, settings, lambda folder: folder == "sim")


def _jobs_of_binaries(lane, settings, wants_folder):
    jobs = []
    for source in binaries.sources():
        if not wants_folder(source.parent.name) or (lane.files and source.stem not in lane.files):
            continue
        jobs += binaries.jobs_of(lane, binaries.binary_of(source, lane.presets[0]), settings)
    return jobs
