package io.pipelane.bench.sharing;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.Locale;

/** How online and offline work share the device. */
enum Way {
  /** Online work has the device to itself. */
  ALONE("gates", Priority.OFFLINE),
  /** Nothing tells them apart, and each may compute at any time: a lane, and a stream, more. */
  STREAMS("none", Priority.ONLINE),
  /** Offline work has a server and a process of its own, which nothing tells of online work. */
  PROCESSES("none", Priority.ONLINE),
  /** Nothing tells them apart. */
  PLAIN("none", Priority.ONLINE),
  /** Offline requests queue behind online ones, and give way to those that wait. */
  CLASSES("none", Priority.OFFLINE),
  /** Offline runs wait at their gates while online work is in flight. */
  GATES("gates", Priority.OFFLINE);

  private final String protection;
  private final Priority offline;

  Way(String protection, Priority offline) {
    this.protection = protection;
    this.offline = offline;
  }

  /** The value of {@code sharing.protection}. */
  String protection() {
    return protection;
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
    return name().toLowerCase(Locale.ROOT);
  }
}
