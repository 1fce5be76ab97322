package io.pipelane.bench.sharing;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.Locale;

/** The way in which online and offline work share the device. */
enum Way {
  /** Online work has the device to itself. */
  ALONE("gates", "off", Priority.OFFLINE),
  /** Nothing tells them apart, and each may compute at any time: a lane, and a stream, more. */
  STREAMS("none", "off", Priority.ONLINE),
  /** Each may compute at any time, offline work on a stream of the least priority. */
  PRIORITIES("none", "always", Priority.OFFLINE),
  /** Each may compute at any time, offline work on some of the multiprocessors alone. */
  SHARES("none", "always", Priority.OFFLINE),
  /** Gates, and offline work on some of the multiprocessors while they hold the rest. */
  GATES_SHARES("gates", "always", Priority.OFFLINE),
  /** The same where the server finds that it pays. */
  MEASURED("gates", "measured", Priority.OFFLINE),
  /** Offline work has a server and a process of its own, which nothing tells of online work. */
  PROCESSES("none", "off", Priority.ONLINE),
  /** The same under CUDA's Multi-Process Service, offline work on some of the multiprocessors. */
  MPS("none", "off", Priority.ONLINE),
  /** The same with memory that CUDA moves between host and device. */
  MPS_MANAGED("none", "off", Priority.ONLINE),
  /** Nothing tells them apart. */
  PLAIN("none", "off", Priority.ONLINE),
  /** Offline requests queue behind online ones, and give way to those that wait. */
  CLASSES("none", "off", Priority.OFFLINE),
  /** Offline runs wait at their gates while online work is in flight. */
  GATES("gates", "off", Priority.OFFLINE);

  private final String protection;
  private final String multiprocessors;
  private final Priority offline;

  Way(String protection, String multiprocessors, Priority offline) {
    this.protection = protection;
    this.multiprocessors = multiprocessors;
    this.offline = offline;
  }

  /** The value of {@code sharing.protection}. */
  String protection() {
    return protection;
  }

  /** The value of {@code sharing.multiprocessors}. */
  String multiprocessors() {
    return multiprocessors;
  }

  /** Whether it is measured with one share of the multiprocessors after another. */
  boolean hasPercent() {
    return this == SHARES || this == GATES_SHARES || this == MEASURED || this == MPS;
  }

  /** Whether offline work has a process of its own. */
  boolean hasProcesses() {
    return this == PROCESSES || this == MPS;
  }

  /** Inferences at a time in one server. */
  int lanes(int asked) {
    return this == STREAMS ? asked + 1 : asked;
  }

  /** The class that offline work asks in. */
  Priority offline() {
    return offline;
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
