package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.residency.ResidencySettings;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** A memory daemon on a fake device of ten pages, whose accounts are checked after every test. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class DaemonTest {
  static final int PAGES = 10;
  static final int PAGE = FakeDevice.PAGE_BYTES;

  final AtomicLong clock = new AtomicLong();
  final FakeModels models = new FakeModels();
  final FakeDevice device = new FakeDevice(PAGES, restBehindCopies());
  final Map<ModelVersion, FakeDevice.Range> rangeOf = new ConcurrentHashMap<>();
  volatile boolean roomForRange;
  final MemoryDaemon daemon =
      new MemoryDaemon(
          device,
          (long) PAGES * PAGE,
          models,
          new EqualBytesGrouping(100, 1),
          structure -> roomForRange,
          residency(),
          clock::get);
  final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void accountsAreRightAndNothingIsUnderWay() throws InterruptedException {
    threads.shutdown();
    assertTrue(threads.awaitTermination(10, TimeUnit.SECONDS), "a thread hangs");
    device.completeAll();
    Ledger ledger = daemon.ledger();
    ledger.verify();
    assertTrue(ledger.isQuiet(), () -> "not quiet: " + ledger);
    daemon.close();
    models.assertAllClosed();
    assertEquals(0, daemon.ledger().lentBytes());
    assertEquals(0, device.openRanges());
  }

  /** What the daemon decides by. */
  ResidencyConfig.Policy policy() {
    return ResidencyConfig.Policy.EXPECTED_STALL;
  }

  int restBehindCopies() {
    return 0;
  }

  ResidencySettings residency() {
    return ResidencySettings.onDemand(policy());
  }

  /** What a daemon decides by that has a link on which moving a page costs next to nothing. */
  ResidencySettings overAFastLink() {
    return new ResidencySettings(
        ResidencySettings.onDemand(policy()).config(),
        SegmentProfiles.inMemory(),
        Optional.of(new PipelineCosts(LinkModel.line(0, PAGE * 1e9), 0, 0)));
  }

  ImportedModel registered(String name, int... pagesPerSegment) {
    return register(FakeModels.model(name, pagesPerSegment));
  }

  /** Registers a variant of a structure of two segments of two pages each. */
  ImportedModel variant(String name) {
    return register(FakeModels.variant(name, "shared", 2L * PAGE, 2L * PAGE));
  }

  ImportedModel register(ImportedModel model) {
    rangeOf.put(model.version(), device.range(daemon.register(model).address()));
    return model;
  }

  /** Brings a model in and lets it go. */
  void use(ImportedModel model) {
    Lease lease = daemon.acquire(model.version());
    device.completeAll();
    requireContent(lease, model);
    lease.close();
  }

  /** Awaits every segment and compares every byte. */
  void requireContent(Lease lease, ImportedModel model) {
    for (int segment = 0; segment < model.plan().segments().size(); segment++) {
      lease.await(segment);
      requireContent((FakeDevice.Range) lease.range().addresses, model, segment);
    }
  }

  void requireContent(ImportedModel model, int segment) {
    requireContent(Objects.requireNonNull(rangeOf.get(model.version())), model, segment);
  }

  private static void requireContent(FakeDevice.Range range, ImportedModel model, int segment) {
    var part = model.plan().segments().get(segment);
    for (long i = part.offset(); i < part.end(); i++) {
      if (range.get(i) != FakeModels.content(model.version(), i)) {
        throw new AssertionError(model.version() + " is wrong at byte " + i);
      }
    }
  }

  /** What a run that begins now reads in place. */
  static byte inWindow(FakeDevice.Range range, long offset) {
    FakeDevice.Range pages = range.shownPages;
    return pages == null
        ? Objects.requireNonNull(range.shown).get(ValueLayout.JAVA_BYTE, offset)
        : pages.get(offset);
  }

  long residentPages(ImportedModel model) {
    return entry(model).residentBytes() / PAGE;
  }

  Ledger.Entry entry(ImportedModel model) {
    return daemon.ledger().entries().stream()
        .filter(entry -> entry.model().equals(model.version()))
        .findFirst()
        .orElseThrow();
  }

  /** Waits until so many acquisitions have joined the line since the beginning. */
  void awaitWaits(long waits) {
    await(() -> daemon.counters().waits() >= waits);
  }

  static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      Thread.onSpinWait();
    }
  }
}
