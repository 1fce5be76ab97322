package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.memory.PeerMemory.Missed;
import io.pipelane.switcher.residency.ResidencySettings;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;

/** What own models and lodgers hold in the end, against everything that they could. */
class LodgerWorthTest extends DaemonTest {
  /** A page moves for what saves so many times as much. */
  private static final double MARGIN = 1.25;

  private static final double NANOS_PER_BYTE = 0.1;
  private static final double LINK_SHARE = 0.1;

  @Override
  ResidencySettings residency() {
    return overAFastLink();
  }

  /** A model, how often it is asked for by those for whom it is kept, and what it may hold. */
  private record Kept(ImportedModel model, double perSecond, int pages) {
    /** What so many of its pages save each second. */
    double saved(long there) {
      return perSecond * (nanos(pages) - nanos(pages - there));
    }

    /** What a request loses by missing pages, what others lose by the copies included. */
    private double nanos(long missing) {
      double copies = NANOS_PER_BYTE * missing * PAGE;
      return copies * (1 + LINK_SHARE * (1 + missing / (double) pages) / 2);
    }

    Missed missed() {
      return new Missed(model.version(), model.plan().weightBytes(), saved(pages));
    }
  }

  @RepeatedTest(100)
  void fetch_asLongAsAnythingIsWorthIt_noChoiceOfPagesSavesMuchMore() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<Kept> all = new ArrayList<>();
    all.add(own("own", 1 + random.nextInt(5), 1 + random.nextInt(20)));
    all.add(own("another", 1 + random.nextInt(5), 1 + random.nextInt(20)));
    List<Kept> lodgers = new ArrayList<>();
    for (String name : List.of("lodger", "second")) {
      int pages = 1 + random.nextInt(6);
      lodgers.add(new Kept(registered(name, pages), 0.01 + random.nextDouble() / 10, pages));
    }
    daemon
        .peers()
        .lodge(
            lodgers.stream()
                .map(Kept::missed)
                .sorted(Comparator.comparingDouble(Missed::waitedPerByte).reversed())
                .toList());
    while (daemon.idleLink().fetchAhead(List.of())) {
      device.completeAll();
    }
    all.addAll(lodgers);
    double saved = all.stream().mapToDouble(kept -> kept.saved(residentPages(kept.model))).sum();
    double best = best(all, 0, PAGES);
    assertTrue(saved * MARGIN >= best - 1e-9, () -> "seed " + seed + ": " + saved + " of " + best);
  }

  private Kept own(String name, int pages, int uses) {
    ImportedModel model = registered(name, pages);
    for (int i = 0; i < uses; i++) {
      use(model);
    }
    double halfLife = residency().config().halfLife().toNanos() / 1e9;
    return new Kept(model, uses * Math.log(2) / halfLife, pages);
  }

  /** The most that models from a number on save by so many pages. */
  private static double best(List<Kept> all, int next, int pages) {
    if (next == all.size()) {
      return 0;
    }
    Kept one = all.get(next);
    double most = 0;
    for (int there = 0; there <= Math.min(pages, one.pages); there++) {
      most = Math.max(most, one.saved(there) + best(all, next + 1, pages - there));
    }
    return most;
  }
}
