package io.pipelane.bench.cluster;

import io.pipelane.bench.report.Column;
import java.util.List;
import java.util.stream.Stream;

/** The columns of {@code bench cluster}. */
final class ClusterColumns {
  static final Column MEAN = new Column("mean_ms", "online mean ms", 2);
  static final Column MEAN_RATIO = new Column("mean_to_alone", "mean/alone", 2);
  static final Column P99_RATIO = new Column("p99_to_alone", "p99/alone", 2);
  static final Column COMPLETION = new Column("completion_min", "completion min", 0);
  static final Column COMPLETION_RATIO = new Column("completion_to_ours", "completion/ours", 2);
  static final Column OVERSOLD = new Column("oversold", "oversold", 3);
  static final Column OVERSOLD_RATIO = new Column("ours_to_oversold", "ours/oversold", 2);
  static final Column MAKESPAN = new Column("makespan_h", "makespan h", 1);
  static final Column UTILIZATION = new Column("utilization_percent", "utilization %", 0);
  static final Column ACTIVITY = new Column("activity_percent", "SM activity %", 0);
  static final Column MOVES = new Column("moves", "moves", 0);
  static final Column EVICTIONS = new Column("evictions", "evictions", 0);
  static final Column UNFINISHED = new Column("unfinished", "unfinished", 0);

  static final List<Column> DAYS =
      List.of(
          MEAN,
          MEAN_RATIO,
          P99_RATIO,
          COMPLETION,
          COMPLETION_RATIO,
          OVERSOLD,
          OVERSOLD_RATIO,
          MAKESPAN,
          UTILIZATION,
          ACTIVITY,
          MOVES,
          EVICTIONS,
          UNFINISHED);

  static final String DAYS_TITLE = "Offline jobs beside online services in a cluster, simulated";

  static final List<String> DAYS_NOTES =
      List.of(
          "MuxFlow's simulations (arXiv 2303.13803, section 7, figures 11 and 13), on made-up figures:"
              + " services, models, durations and how workloads hinder each other are assumed, as"
              + " decision 0055 lists. Nothing here was measured on a GPU but what gates leave to"
              + " offline work. Ratios are worth as much as these assumptions.",
          "A to D: 1,410, 2,713, 4,622 and 7,287 jobs for 1,000 devices, as many for each of --devices,"
              + " log-normal durations of 3.0,"
              + " 2.5, 2.2 and 1.8 hours in the mean, which come within 12 hours. Three services, 20"
              + " to 190 requests a second on each device, by the time of day. Medians of --rounds"
              + " days, the same for all schemes.",
          "ours: space shared, offline work on the multiprocessors that online work leaves, places by"
              + " matching predicted speeds every --interval minutes, throttle and states as on the"
              + " server (the same classes). no matching: first come first served on random healthy"
              + " devices. fixed share: 40 %. neither: both. no throttle, no states: without that"
              + " protection. time slices: equal ones. priority slices: four fifths for online work."
              + " gates: offline work waits while online work is in flight, as Pipelane's server"
              + " does; with matching. gates, share: it has a share of the multiprocessors meanwhile.",
          "online mean, p99: of all requests of the day; alone: without offline work. completion: from"
              + " a job's coming to its end, mean. oversold: time that jobs would take alone, over"
              + " the time for which they had a device (equation 3 as its text defines it).",
          "completion/ours and ours/oversold above 1: ours is better. The paper has 1.10 to 2.24 and"
              + " 1.08 to 1.97 over the two time sharings. evictions: from overloaded devices, with"
              + " the loss of what was done since the last placement. moves: of running jobs, 60 to"
              + " 62 seconds each.");

  static final String MEASURED_DAYS_TITLE =
      "Offline jobs beside online services in a cluster, simulated from what one device measured";

  static final List<String> MEASURED_DAYS_NOTES =
      List.of(
          "Measured, by bench sharing on one device with one pair of models (--sharing names the files,"
              + " the table below has what was taken from them): what a way to share does to the mean"
              + " latency of online requests and leaves to offline work, utilisation and activity, each"
              + " by the rate of requests; what a request takes. Between rates and shares that were"
              + " measured, straight lines; slowdown below the least rate and above the greatest as"
              + " there.",
          "Assumed: everything else. That all devices and pairs are like this one, so matching sees no"
              + " difference but that of rates; how many requests and jobs come and how long jobs are;"
              + " waits of a queue with equal runs, whose mean is the measured one (M/D/1), so p99 is"
              + " not measured; what moves and evictions cost; speeds are predicted without error.",
          "time slices: requests of both in one line, in order of coming (plain). priority slices:"
              + " streams of different priority (priorities). ours: a share of the multiprocessors at"
              + " any time (shares). gates: offline runs wait while online work is in flight. gates,"
              + " share: they have a share of the multiprocessors meanwhile (gates-shares). The share is"
              + " what online work leaves, bounded as MuxFlow has it, or 40 % (fixed share).");

  /** Of the notes on assumed figures, those that are true of measured ones, too. */
  static List<String> measuredNotes() {
    return Stream.of(
            MEASURED_DAYS_NOTES,
            List.of(DAYS_NOTES.get(1)),
            DAYS_NOTES.subList(3, DAYS_NOTES.size()))
        .flatMap(List::stream)
        .toList();
  }

  static final Column DEVICE_MILLIS = new Column("device_ms", "on the device ms", 3);
  static final Column HOST_MILLIS = new Column("host_ms", "besides ms", 3);
  static final Column MEASURED_SLOWDOWN = new Column("mean_to_alone", "mean/alone", 2);
  static final Column MEASURED_SPEED = new Column("offline_to_alone", "offline/alone", 3);
  static final List<Column> MEASURED =
      List.of(DEVICE_MILLIS, HOST_MILLIS, MEASURED_SLOWDOWN, MEASURED_SPEED, UTILIZATION, ACTIVITY);
  static final String MEASURED_TITLE = "What was measured";

  static final List<String> MEASURED_NOTES =
      List.of(
          "offline/alone: over the best rate of offline work alone in the same file. A request's time on"
              + " the device is that of the idle share at the least rate; what it takes besides makes"
              + " the queue's mean there the measured one. A dash: not in the file.");

  static final Column LEARNED = new Column("pairs", "pairs learned", 0);
  static final Column LEARNED_ERROR = new Column("learned_error_percent", "error on them %", 1);
  static final Column HELD_OUT_ERROR =
      new Column("held_out_error_percent", "error on 500 held out %", 1);
  static final List<Column> ERRORS = List.of(LEARNED, LEARNED_ERROR, HELD_OUT_ERROR);
  static final String ERRORS_TITLE = "How far predicted speeds are off";

  static final List<String> ERRORS_NOTES =
      List.of(
          "Pairs of made-up workloads in the simulator's model, with 2 % of noise, of services and"
              + " models other than those above. Memory traffic, which the model has and profiles"
              + " do not, can only be guessed from occupancy. Error: the mean of what predictions"
              + " are off by, over the mean of what was measured. On real pairs it was not measured.");

  static final Column OWN = new Column("own_s", "ours s", 3);
  static final Column KUHN_MUNKRES = new Column("kuhn_munkres_s", "JGraphT Kuhn-Munkres s", 1);
  static final Column MAXIMUM_WEIGHT =
      new Column("maximum_weight_s", "JGraphT maximum weight s", 1);
  static final Column WEIGHT = new Column("weight", "weight", 3);
  static final List<Column> MATCHING = List.of(OWN, KUHN_MUNKRES, MAXIMUM_WEIGHT, WEIGHT);
  static final String MATCHING_TITLE = "How long matching takes";

  static final List<String> MATCHING_NOTES =
      List.of(
          "From a matrix of weights to the matching, the graph that JGraphT 1.5.3 needs included; ours"
              + " three times, JGraphT once. All three find the same weight, which the program"
              + " checks. four kinds of jobs: many rows are equal, as in the simulator.");

  static final Column LIVE_MEAN = new Column("live_mean_ms", "mean ms, live", 2);
  static final Column SIMULATED_MEAN = new Column("simulated_mean_ms", "simulated", 2);
  static final Column MEAN_OFF = new Column("mean_off_percent", "off %", 1);
  static final Column LIVE_P99 = new Column("live_p99_ms", "p99 ms, live", 2);
  static final Column SIMULATED_P99 = new Column("simulated_p99_ms", "p99, simulated", 2);
  static final Column P99_OFF = new Column("p99_off_percent", "p99 off %", 1);
  static final Column LIVE_SPEED = new Column("live_speed", "offline, live", 3);
  static final Column SIMULATED_SPEED = new Column("simulated_speed", "offline, simulated", 3);
  static final List<Column> ONE =
      List.of(
          LIVE_MEAN,
          SIMULATED_MEAN,
          MEAN_OFF,
          LIVE_P99,
          SIMULATED_P99,
          P99_OFF,
          LIVE_SPEED,
          SIMULATED_SPEED);
  static final String ONE_TITLE = "One H200 at gates, simulated and live";

  static final List<String> ONE_NOTES =
      List.of(
          "Live: BERT-base beside ResNet-152, h200-sharing.json. Simulated: requests of 2.404 ms on the"
              + " device, of the live idle share, and 0.311 ms besides, so that the first mean is"
              + " the live one; what gates leave to offline work (0.96 of the idle time) is of these"
              + " runs, too. The others are not fitted. 5 % on means and 10 % on p99 were aimed"
              + " at. Space sharing has no live counterpart.");

  private ClusterColumns() {}
}
