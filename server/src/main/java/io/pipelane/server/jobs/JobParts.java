package io.pipelane.server.jobs;

import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceService;
import java.time.Clock;
import java.util.random.RandomGenerator;

/**
 * The parts of the server that all jobs are run with.
 *
 * @param statistics what became of items is counted there
 * @param random for the jobs' names
 */
public record JobParts(
    JobsSettings settings,
    ModelCatalog catalog,
    InferenceService service,
    InferenceStatistics statistics,
    RandomGenerator random,
    Clock clock) {}
