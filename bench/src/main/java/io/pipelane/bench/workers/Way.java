package io.pipelane.bench.workers;

import java.util.List;

/** The way in which the processes of two models that take turns are changed. */
enum Way {
  TWO_PROCESSES(
      "two processes", "workers.isolation=process workers.switch=fault workers.standbys=0"),
  ONE_PROCESS("one process (workers.isolation: thread)", "workers.isolation=thread"),
  ONE_WORKER(
      "one worker (workers.switch: fault)", "workers.isolation=process workers.switch=fault"),
  ACTIVE_STANDBY_OF_TENANTS(
      "active and standby (workers.switch: tenant)",
      "workers.isolation=process workers.switch=tenant"),
  ACTIVE_STANDBY_OF_MODELS(
      "active and standby (workers.switch: model)",
      "workers.isolation=process workers.switch=model");

  private final String description;
  private final String settings;

  Way(String description, String settings) {
    this.description = description;
    this.settings = settings;
  }

  String description() {
    return description;
  }

  /** Settings of the server, {@code KEY=VALUE}. */
  List<String> settings() {
    return List.of(settings.split(" ", -1));
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
