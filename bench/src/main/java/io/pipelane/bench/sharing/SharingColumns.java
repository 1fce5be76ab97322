package io.pipelane.bench.sharing;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench sharing}. */
final class SharingColumns {
  static final Column REQUESTS = new Column("online_requests", "online", 0);
  static final Column IN_ALL = new Column("online_requests_in_all", "in all", 0);
  static final Column MEAN = new Column("mean_ms", "mean ms", 2);
  static final Column P50 = new Column("p50_ms", "p50 ms", 2);
  static final Column P99 = new Column("p99_ms", "p99 ms", 2);
  static final Column P999 = new Column("p999_ms", "p99.9 ms", 2);
  static final Column MEAN_RATIO = new Column("mean_to_alone", "mean/alone", 2);
  static final Column P50_RATIO = new Column("p50_to_alone", "p50/alone", 2);
  static final Column P99_RATIO = new Column("p99_to_alone", "p99/alone", 2);
  static final Column P999_RATIO = new Column("p999_to_alone", "p99.9/alone", 2);
  static final Column OFFLINE = new Column("offline_per_s", "offline /s", 1);
  static final Column OVERSOLD = new Column("oversold_share", "oversold", 2);
  static final Column IDLE = new Column("idle_share", "idle", 2);
  static final Column OF_IDLE = new Column("offline_to_idle", "oversold/idle", 2);
  static final Column NONE_IN_FLIGHT = new Column("none_in_flight_share", "none in flight", 2);
  static final Column OF_NONE_IN_FLIGHT =
      new Column("offline_to_none_in_flight", "oversold/none in flight", 2);
  static final Column STOPS = new Column("offline_stops", "stops", 0);
  static final Column SIZE = new Column("share_percent", "share %", 0);
  static final Column OVERLIMITS = new Column("evictions", "evictions", 0);
  static final Column LONGEST_STOP = new Column("longest_stop_ms", "longest stop ms", 2);
  static final Column MEAN_STOP = new Column("mean_stop_ms", "mean stop ms", 2);
  static final Column MEMORY_RETURNS = new Column("memory_returns", "memory returns", 0);
  static final Column MEAN_RETURNED = new Column("mean_returned_mb", "mean returned MB", 1);
  static final Column MEAN_MEMORY_RETURN =
      new Column("mean_memory_return_ms", "mean memory return ms", 2);
  static final Column LONGEST_MEMORY_RETURN =
      new Column("longest_memory_return_ms", "longest memory return ms", 2);
  static final Column UTILIZATION = new Column("utilization_percent", "utilization %", 0);
  static final Column ACTIVITY = new Column("activity_percent", "activity %", 0);
  static final Column MEMORY = new Column("memory_percent", "memory %", 0);
  static final Column FAILED = new Column("failed", "failed", 0);

  static final List<Column> ALL =
      List.of(
          REQUESTS,
          IN_ALL,
          MEAN,
          P50,
          P99,
          P999,
          MEAN_RATIO,
          P50_RATIO,
          P99_RATIO,
          P999_RATIO,
          OFFLINE,
          OVERSOLD,
          IDLE,
          OF_IDLE,
          NONE_IN_FLIGHT,
          OF_NONE_IN_FLIGHT,
          STOPS,
          SIZE,
          OVERLIMITS,
          LONGEST_STOP,
          MEAN_STOP,
          MEMORY_RETURNS,
          MEAN_RETURNED,
          MEAN_MEMORY_RETURN,
          LONGEST_MEMORY_RETURN,
          UTILIZATION,
          ACTIVITY,
          MEMORY,
          FAILED);

  static final String TITLE = "Online and offline work on one device";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds. In each round every way has its turn in a server of its own, in this"
              + " process, without HTTP, with the same online requests at the same times (Poisson, or"
              + " regular where the row says so: at equal intervals)."
              + " online: answered requests a round; in all: of all rounds.",
          "Ratios are of all rounds together, to online work alone at the same rate, with their 95 %"
              + " intervals: 1000 resamples of rounds, and in each of blocks of requests that follow"
              + " each other, the same for both. 99.9 % of few requests are known roughly only.",
          "Latency: from the time at which a request was meant to leave to its answer. All weights"
              + " are on the device. Offline work is a closed loop of as many callers as --callers"
              + " says.",
          "plain: nothing tells the two apart, and one computes at a time. streams: the same with a lane,"
              + " and a stream, more. processes: offline work has a server and a process of its own;"
              + " between them is what the host has, MPS or none. classes: offline requests queue behind, and give"
              + " way at gates to online ones that wait. gates: offline runs wait at gates while online"
              + " work is in flight. shares: offline work has some of the multiprocessors, at any time;"
              + " priorities: all of them, on a stream of less priority. gates-shares: some of them"
              + " while gates hold it; measured: where the server finds that this pays, of the size that"
              + " it chooses (share: of the multiprocessors, at the end of the case). mps: processes"
              + " under CUDA's Multi-Process Service, as is online work alone in that call. On the processor a share is a lane like any.",
          "stops: times that an offline run was stopped at a gate; evictions: that the device was"
              + " over its limit and stopped all; longest and mean stop: from that order until no"
              + " offline run went on, of all orders since the server's start that met one. memory"
              + " returns: times that memory came back then which offline work alone used, how much"
              + " and how fast, from the last run's stop on; of the server's start on as well."
              + " utilization: of the time, that in which something ran; activity: of the multiprocessors or cores, those that were busy; memory: what is"
              + " taken; means of the device's monitor.",
          "oversold: the time that offline runs would have taken alone, over the time they had, sum"
              + " over sum (MuxFlow's equation 3 as its text defines it); it is their rate over their"
              + " rate alone. idle: what online work leaves over,"
              + " 1 - rate x the median of online requests one after the other / lanes. none in flight:"
              + " the share of the time in which no online request was in flight while they came at"
              + " that rate alone; requests that come now and then take longer than those that follow"
              + " each other, as the device and its workers have fallen asleep.");

  private SharingColumns() {}
}
