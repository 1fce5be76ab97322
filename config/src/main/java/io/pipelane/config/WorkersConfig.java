package io.pipelane.config;

import java.time.Duration;

/** The processes that models run in, and what becomes of one that dies of a model. */
public record WorkersConfig(
    @Key(
            about =
                "Whether models run on threads of the server or in a process of their own; auto is process on a GPU, thread on the CPU",
            standard = "auto")
        Isolation isolation,
    @Key(
            name = "switch",
            about =
                "When another process takes over: after a fault alone, or also for every other tenant or model",
            standard = "fault")
        SwitchOn switchOn,
    @Key(
            about = "Processes that stand by to take over; each keeps every session once more",
            standard = "2",
            min = "0",
            max = "8")
        int standbys,
    @Key(
            about =
                "Whether offline work shares the process of online work or has one of its own, whose end interrupts no online request; own costs another process beside the standbys",
            standard = "shared")
        Offline offline,
    @Key(
            about =
                "How long a run may take from one gate to the next, at most, before its process is ended; one of input shapes that were run before may take 100 times as long as those, from 5s on",
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
        ByteSize heap,
    @Key(
            about =
                "Whether a page of device memory that had one tenant's weights is zeroed before another tenant's model has it",
            standard = "false")
        boolean zeroPages) {

  /** Whether models run in processes of their own. */
  public boolean usesProcesses(boolean onGpu) {
    return switch (isolation) {
      case AUTO -> onGpu;
      case THREAD -> false;
      case PROCESS -> true;
    };
  }

  /** The process that offline work runs in. */
  public enum Offline {
    /** In the process of online work. */
    SHARED,
    /** In one that runs nothing else. */
    OWN
  }

  /** The isolation that keeps a model from taking the server with it. */
  public enum Isolation {
    AUTO,
    THREAD,
    PROCESS
  }

  /** The reason for which a process is given up, beside its faults. */
  public enum SwitchOn {
    /** Nothing: one process runs all models. */
    FAULT,
    /** A model of another tenant: no two tenants' models run in one process. */
    TENANT,
    /** Another model: no two models run in one process. */
    MODEL;

    /** Whether a process belongs to one owner, whose model or tenant it was first used for. */
    public boolean keepsOwnersApart() {
      return this != FAULT;
    }
  }
}
