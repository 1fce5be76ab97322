package io.pipelane.bench.workers;

import java.util.List;

/** How the processes of two models that take turns are changed. */
enum Way {
  TWO_PROCESSES(
      "two processes",
      List.of("workers.isolation=process", "workers.switch=fault", "workers.standbys=0")),
  ONE_PROCESS("one process (workers.isolation: thread)", List.of("workers.isolation=thread")),
  ONE_WORKER(
      "one worker (workers.switch: fault)",
      List.of("workers.isolation=process", "workers.switch=fault")),
  ACTIVE_STANDBY_OF_TENANTS(
      "active and standby (workers.switch: tenant)",
      List.of("workers.isolation=process", "workers.switch=tenant")),
  ACTIVE_STANDBY_OF_MODELS(
      "active and standby (workers.switch: model)",
      List.of("workers.isolation=process", "workers.switch=model"));

  private final String description;
  private final List<String> settings;

  Way(String description, List<String> settings) {
    this.description = description;
    this.settings = settings;
  }

  String description() {
    return description;
  }

  List<String> settings() {
    return settings;
  }

  /** Whether the old model's process is ended before the new one's is begun. */
  boolean endsFirst() {
    return this == TWO_PROCESSES;
  }

  /** Whether a standby takes over. */
  boolean switches() {
    return this == ACTIVE_STANDBY_OF_MODELS || this == ACTIVE_STANDBY_OF_TENANTS;
  }
}
