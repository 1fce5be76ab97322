package io.pipelane.switcher.placement;

import io.pipelane.config.section.PlacementConfig;
import io.pipelane.modelstore.ModelVersion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The threads that look again and again at what each of several devices is to have. */
final class Reviews implements AutoCloseable {
  private static final Duration PAUSE = Duration.ofMillis(200);
  private static final Duration BETWEEN_RUNS = Duration.ofMillis(50);

  private final List<ReviewThread> threads = new ArrayList<>();

  /**
   * Starts them.
   *
   * @param routes of all models, as they come and go
   * @param uses how often each model is asked for
   * @param firstRuns after which a session has loaded and captured what it keeps
   * @param nanoClock counts how long replicas are there
   */
  Reviews(
      List<Member> members,
      Map<ModelVersion, Route> routes,
      Supplier<Map<ModelVersion, Double>> uses,
      PlacementConfig config,
      int firstRuns,
      LongSupplier nanoClock) {
    if (config.replicas() && config.routing() == PlacementConfig.Routing.PREDICTED) {
      Duration halfLife = config.replicaHalfLife();
      Replicas replicas = new Replicas(members, halfLife, nanoClock);
      Duration pause = halfLife.compareTo(PAUSE) < 0 ? halfLife : PAUSE;
      threads.add(new ReviewThread("replicas", () -> replicas.review(routes), pause));
    }
    if (config.readySessions() > 0) {
      ReadySessions ready =
          new ReadySessions(
              members,
              config.readySessions(),
              (member, bytes) -> member.switcher.standing().freeShare(bytes),
              nanoClock);
      Runnable review = () -> ready.review(routes.values(), uses.get());
      threads.add(new ReviewThread("ready-sessions", review, PAUSE));
      if (runAhead(members, config)) {
        RunsAhead ahead =
            new RunsAhead(members, member -> member.switcher::submit, firstRuns, nanoClock);
        Runnable look = () -> ahead.review(routes.values(), uses.get());
        threads.add(new ReviewThread("runs-ahead", look, BETWEEN_RUNS));
      }
    }
    Lodgings lodgings = new Lodgings(members);
    if (config.peerMemory() && lodgings.arePossible()) {
      threads.add(new ReviewThread("lodgings", lodgings::review, PAUSE));
    }
  }

  /** Whether models run ahead where their sessions stand ready. */
  static boolean runAhead(List<Member> members, PlacementConfig config) {
    return members.size() > 1
        && config.readySessions() > 0
        && members.stream().allMatch(member -> member.switcher.standing().keepFirstRuns());
  }

  /** No model's devices change any more. */
  @Override
  public void close() {
    threads.forEach(ReviewThread::close);
  }
}
