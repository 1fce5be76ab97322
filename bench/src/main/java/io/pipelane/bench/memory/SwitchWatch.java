package io.pipelane.bench.memory;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.plot.LinePlot;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.account.Ledger;
import java.util.ArrayList;
import java.util.List;

/** Device memory while one model follows another where there is room for one. */
final class SwitchWatch {
  private static final int RUNS = 5;
  private static final double MEGA = 1e6;

  private SwitchWatch() {}

  /** Runs one model, the other, and the first again, and draws what the ledger says meanwhile. */
  static LinePlot plot(LocalPipelane server, AskedModel first, AskedModel second) throws Exception {
    Run before = server.caller(first, Priority.ONLINE);
    Run after = server.caller(second, Priority.ONLINE);
    after.run();
    before.run();
    MemoryWatch watch = new MemoryWatch(server);
    try (watch) {
      before.run();
      for (int i = 0; i < RUNS; i++) {
        after.run();
      }
      before.run();
    }
    LinePlot plot =
        new LinePlot(
            "Device memory in MB over milliseconds: %s, %s, and back"
                .formatted(first.name(), second.name()));
    changes(watch.moments()).forEach(moment -> add(plot, moment, List.of(first, second)));
    return plot;
  }

  /** The moments before and after each change, and the first and the last. */
  private static List<MemoryWatch.Moment> changes(List<MemoryWatch.Moment> all) {
    List<MemoryWatch.Moment> kept = new ArrayList<>();
    for (int i = 0; i < all.size(); i++) {
      boolean begins = i == 0 || !all.get(i).memory().equals(all.get(i - 1).memory());
      boolean ends = i == all.size() - 1 || !all.get(i).memory().equals(all.get(i + 1).memory());
      if (begins || ends) {
        kept.add(all.get(i));
      }
    }
    return kept;
  }

  private static void add(LinePlot plot, MemoryWatch.Moment moment, List<AskedModel> models) {
    for (AskedModel model : models) {
      double bytes =
          moment.memory().weights().entries().stream()
              .filter(entry -> entry.model().model().equals(model.model()))
              .mapToLong(Ledger.Entry::residentBytes)
              .sum();
      plot.add(model.model(), moment.millis(), bytes / MEGA);
    }
    for (Kind kind : List.of(Kind.LANES, Kind.SESSIONS, Kind.FRAMEWORK)) {
      plot.add(kind.label(), moment.millis(), kind.bytes(moment.memory()) / MEGA);
    }
  }
}
