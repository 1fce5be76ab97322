package io.pipelane.server.placement;

import io.pipelane.cluster.profile.WorkloadProfile;
import io.pipelane.cluster.speed.MeasuredPair;
import io.pipelane.cluster.speed.PerceptronPredictor;
import io.pipelane.cluster.speed.SpeedPredictor;
import io.pipelane.modelstore.WholeFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;

/**
 * The speeds that jobs have reached beside online work on this host, and a predictor that has
 * learnt from them. One thread changes it; what it has learnt is for any.
 */
final class SpeedLearning {
  /*
   * A predictor is used only where what was learnt from the older pairs is good enough on the newest
   * fifth: pairs that follow each other are much alike, so that some from among the others would tell
   * how well it remembers. It has learnt from all of them then. The oldest go, as services change.
   */
  static final int MOST_PAIRS = 1_000;
  static final int LEAST_PAIRS = 50;

  /** MuxFlow §5 reports errors below a tenth. */
  private static final double LARGEST_ERROR = 0.1;

  private static final int KEPT_ASIDE = 5;
  private static final int EPOCHS = 100;
  private static final long SEED = 1;
  private static final int CELLS = 10;
  private static final System.Logger LOG = System.getLogger(SpeedLearning.class.getName());

  private final Path file;
  private final Deque<MeasuredPair> pairs = new ArrayDeque<>();
  private volatile Learnt learnt = new Learnt(0, OptionalDouble.empty(), Optional.empty());

  /**
   * The result of learning.
   *
   * @param error on the newest pairs of what the others taught; empty while there are too few
   * @param predictor where the error is small enough
   */
  record Learnt(int pairs, OptionalDouble error, Optional<SpeedPredictor> predictor) {}

  /** Learns from the pairs of a file, if there is one; lines that are no pairs are left out. */
  SpeedLearning(Path file) throws IOException {
    this.file = file;
    try {
      for (String line : Files.readAllLines(file)) {
        read(line).ifPresent(this::keep);
      }
    } catch (NoSuchFileException e) {
      return;
    }
    learn();
  }

  private static Optional<MeasuredPair> read(String line) {
    try {
      double[] cells =
          Arrays.stream(line.split("\t", -1)).mapToDouble(Double::parseDouble).toArray();
      if (cells.length != CELLS) {
        return Optional.empty();
      }
      checkShare("share", cells[8]);
      checkShare("throughput", cells[9]);
      return Optional.of(
          new MeasuredPair(profile(cells, 0), profile(cells, 4), cells[8], cells[9]));
    } catch (IllegalArgumentException e) {
      LOG.log(System.Logger.Level.WARNING, "not a measured pair: {0}", e.getMessage());
      return Optional.empty();
    }
  }

  private static WorkloadProfile profile(double[] cells, int from) {
    return new WorkloadProfile(cells[from], cells[from + 1], cells[from + 2], cells[from + 3]);
  }

  private static void checkShare(String what, double share) {
    if (!(share >= 0 && share <= 1)) {
      throw new IllegalArgumentException(
          "%s is %s; it must be between 0 and 1".formatted(what, share));
    }
  }

  private static String line(MeasuredPair pair) {
    WorkloadProfile on = pair.online();
    WorkloadProfile off = pair.offline();
    return DoubleStream.of(
            on.utilization(),
            on.activity(),
            on.occupancy(),
            on.separateMillis(),
            off.utilization(),
            off.activity(),
            off.occupancy(),
            off.separateMillis(),
            pair.share(),
            pair.throughput())
        .mapToObj(Double::toString)
        .collect(Collectors.joining("\t"));
  }

  private void keep(MeasuredPair pair) {
    pairs.addLast(pair);
    if (pairs.size() > MOST_PAIRS) {
      pairs.removeFirst();
    }
  }

  /** Keeps pairs, in the file as well, and learns anew; nothing happens without any. */
  void add(List<MeasuredPair> measured) throws IOException {
    if (measured.isEmpty()) {
      return;
    }
    measured.forEach(this::keep);
    learn();
    String lines = pairs.stream().map(pair -> line(pair) + "\n").collect(Collectors.joining());
    WholeFile.write(file, lines.getBytes(StandardCharsets.UTF_8));
  }

  private void learn() {
    if (pairs.size() < LEAST_PAIRS) {
      learnt = new Learnt(pairs.size(), OptionalDouble.empty(), Optional.empty());
      return;
    }
    List<MeasuredPair> all = List.copyOf(pairs);
    int older = all.size() - all.size() / KEPT_ASIDE;
    double error = train(all.subList(0, older)).error(all.subList(older, all.size()));
    learnt =
        new Learnt(
            all.size(),
            OptionalDouble.of(error),
            error <= LARGEST_ERROR ? Optional.of(train(all)) : Optional.empty());
  }

  private static PerceptronPredictor train(List<MeasuredPair> from) {
    return PerceptronPredictor.train(from, EPOCHS, SEED);
  }

  Learnt learnt() {
    return learnt;
  }
}
