package io.pipelane.config;

import java.time.Duration;

/** Where models run, and what becomes of a process that dies of one. */
public record WorkersConfig(
    @Key(
            about =
                "Whether models run on threads of the server or in a process of their own; on the CPU so far",
            standard = "thread")
        Isolation isolation,
    @Key(
            about = "Processes that stand by to take over; each keeps every session once more",
            standard = "1",
            min = "0",
            max = "8")
        int standbys,
    @Key(
            about = "How long a run may take from one gate to the next before its process is ended",
            standard = "30s",
            min = "100ms",
            max = "24h")
        Duration hangTimeout,
    @Key(
            about = "How long a process may take to start, and to build a session",
            standard = "60s",
            min = "1s",
            max = "24h")
        Duration startTimeout,
    @Key(about = "Java heap of each process", standard = "128MiB", min = "16MiB", max = "64GiB")
        ByteSize heap) {

  /** What keeps a model from taking the server with it. */
  public enum Isolation {
    THREAD,
    PROCESS
  }
}
