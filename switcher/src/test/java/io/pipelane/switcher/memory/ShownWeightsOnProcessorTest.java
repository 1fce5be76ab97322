package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Models in files that come and go on a processor whose link has no rate. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ShownWeightsOnProcessorTest {
  private static final int PAGE = 2 << 20;
  private static final int BYTES = 3 * PAGE + PAGE / 2;
  private static final int ROOM = 10;

  @TempDir private Path folder;

  private final AtomicLong nanos = new AtomicLong(Duration.ofDays(1).toNanos());
  private final CpuDevice device =
      CpuDevice.open(new ByteSize((long) ROOM * PAGE), new ByteSize(PAGE), Bandwidth.UNLIMITED);
  private final HostTier tier = HostTier.mapping(new ByteSize(4L * BYTES));
  private final CountDownLatch isBeingNoted = new CountDownLatch(1);
  private volatile @Nullable CountDownLatch timeIsNoted;
  private MemoryDaemon daemon = daemon(false);
  private final Random random = new Random(11);

  private MemoryDaemon daemon(boolean zeroPages) {
    return new MemoryDaemon(
        device,
        (long) ROOM * PAGE,
        tier,
        new EqualBytesGrouping(8, PAGE / 4),
        structure -> false,
        SharedPagesTest.settings(true, zeroPages),
        this::now);
  }

  @AfterEach
  void close() {
    daemon.ledger().verify();
    daemon.close();
    assertEquals(0, daemon.ledger().lentBytes());
    tier.close();
    device.close();
  }

  private ImportedModel model(String name, String structure, byte[] weights) throws IOException {
    Path file = Files.write(folder.resolve(name), weights);
    long[] segments = {PAGE + 1, PAGE / 2, BYTES - PAGE - 1 - PAGE / 2};
    ImportedModel of = FakeModels.variant(name, structure, segments);
    return registered(new ImportedModel(of.version(), of.plan(), file, file));
  }

  private ImportedModel registered(ImportedModel model) {
    daemon.register(model);
    return model;
  }

  private byte[] drawn() {
    byte[] weights = new byte[BYTES];
    random.nextBytes(weights);
    return weights;
  }

  private void run(ImportedModel model) {
    try (Lease lease = daemon.acquire(model.version())) {
      lease.awaitAll();
      MemorySegment there = lease.range().addresses.memory().asSlice(0, BYTES);
      MemorySegment file = MemorySegment.ofArray(Files.readAllBytes(model.weights()));
      assertEquals(-1, there.mismatch(file), model.version() + " is wrong");
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    daemon.ledger().verify();
  }

  /** Has a model's weights be copied once more, and waits until they can be shown. */
  private void awaitAtHand(ImportedModel model) {
    daemon.evictions().evict(model.version(), 0);
    run(model);
    try (WeightSource source = tier.open(model)) {
      while (device.copies().atHand(source, 0, BYTES) < BYTES) {
        Thread.onSpinWait();
      }
    }
  }

  @Test
  void modelThatComesBack_isThereWithoutACopyAndTakesItsPages() throws IOException {
    ImportedModel one = model("one", "one", drawn());
    run(one);
    awaitAtHand(one);
    daemon.evictions().evict(one.version(), PAGE);
    long copies = daemon.counters().copies();

    try (Lease lease = daemon.acquire(one.version())) {
      lease.awaitAll();
      assertEquals(0, lease.stallNanos());
      assertEquals(4L * PAGE, daemon.ledger().lentBytes());
    }

    run(one);
    assertEquals(copies + 1, daemon.counters().copies());
  }

  @Test
  void modelWhosePagesMustBeZeroed_comesInGroupsBehindThoseThatAreShown() throws IOException {
    daemon.close();
    daemon = daemon(true);
    ImportedModel one = model("one", "one", drawn());
    run(one);
    awaitAtHand(one);
    daemon.evictions().evict(one.version(), 0);
    ImportedModel file = FakeModels.ofBytes("other", 3 * PAGE).ofTenant("other");
    Path weights = Files.write(folder.resolve("other"), new byte[3 * PAGE]);
    ImportedModel other =
        registered(
            new ImportedModel(file.version(), file.plan(), weights, weights).ofTenant("other"));
    try (Lease lease = daemon.acquire(other.version())) {
      lease.awaitAll();
    }
    daemon.evictions().evict(other.version(), 0);
    long copies = daemon.counters().copies();

    run(one); // Page by page three times the other's, and last one of its own.

    assertEquals(copies + 3, daemon.counters().copies());
  }

  @Test
  void modelThatStays_getsMemoryOfItsOwnAndIsShownAgainAfterItHasGone() throws IOException {
    ImportedModel one = model("one", "one", drawn());
    run(one);
    awaitAtHand(one);
    daemon.evictions().evict(one.version(), 0);
    run(one);
    assertEquals(4, device.shownPages());

    assertFalse(fetchAhead(), "it has just come");
    assertEquals(4, device.shownPages());
    later(1);
    assertFalse(fetchAhead(), "it has not been seen to stay");
    later(1);
    for (int page = 3; page >= 0; page--) {
      fetchAheadAndWait();
      assertEquals(page, device.shownPages());
    }
    run(one);
    assertFalse(fetchAhead());

    daemon.evictions().evict(one.version(), 0);
    long copies = daemon.counters().copies();
    run(one);
    assertEquals(copies + 1, daemon.counters().copies());
    assertEquals(4, device.shownPages());
  }

  @Test
  void modelThatIsShown_tellsNobodyThatTheLinkIsFree() throws IOException {
    ImportedModel one = model("one", "one", drawn());
    run(one);
    awaitAtHand(one);
    daemon.evictions().evict(one.version(), 0);
    AtomicInteger told = new AtomicInteger();
    daemon.idleLink().onFree(told::incrementAndGet);

    run(one);

    assertEquals(4, device.shownPages());
    assertEquals(0, told.get());
  }

  @Test
  void modelThatWasWaitedForIsShown_whoWasTurnedAwayIsToldAfterItsRun() throws IOException {
    ImportedModel one = model("one", "one", drawn());
    run(one);
    awaitAtHand(one);
    daemon.evictions().evict(one.version(), 0);
    ImportedModel two = model("two", "two", drawn());
    ImportedModel three = model("three", "three", drawn());
    Semaphore told = new Semaphore(0);
    CompletableFuture<Lease> waiting;
    try (Lease second = daemon.acquire(two.version());
        Lease third = daemon.acquire(three.version())) {
      second.awaitAll();
      third.awaitAll();
      waiting = CompletableFuture.supplyAsync(() -> daemon.acquire(one.version()));
      daemon.idleLink().onFree(told::release);
      while (daemon.counters().waits() < 5) { // Of each the first, and twice more of this one.
        Thread.onSpinWait();
      }
      assertFalse(fetchAhead(), "it is waited for");
    }

    Lease lease = waiting.join();
    assertEquals(4, device.shownPages());
    int before = told.drainPermits();
    lease.close();

    assertEquals(1, told.availablePermits(), "told before: " + before);
  }

  @Test
  void modelThatIsShownMakesRoom_whoFoundNoneIsToldThenAndAfterItsRun() throws IOException {
    ImportedModel one = model("one", "one", drawn());
    run(one);
    awaitAtHand(one);
    daemon.evictions().evict(one.version(), 0);
    ImportedModel four = model("four", "four", drawn());
    run(four);
    daemon.evictions().evict(four.version(), 2L * PAGE);
    ImportedModel two = model("two", "two", drawn());
    ImportedModel three = model("three", "three", drawn());
    run(three);
    AtomicInteger told = new AtomicInteger();
    try (Lease second = daemon.acquire(two.version())) {
      second.awaitAll();
      assertEquals(10L * PAGE, daemon.ledger().lentBytes());
      assertFalse(daemon.idleLink().fetchAhead(List.of(four.version(), three.version())));
      daemon.idleLink().onFree(told::incrementAndGet);

      try (Lease lease = daemon.acquire(one.version())) {
        lease.awaitAll();
        assertEquals(4, device.shownPages());
        assertEquals(1, told.get());
      }

      assertEquals(2, told.get());
    }
  }

  private void later(int seconds) {
    nanos.addAndGet(Duration.ofSeconds(seconds).toNanos());
  }

  private boolean fetchAhead() {
    return daemon.idleLink().fetchAhead(List.of());
  }

  private void fetchAheadAndWait() {
    Semaphore over = new Semaphore(0);
    daemon.idleLink().onFree(over::release);
    boolean _ = fetchAhead(); // It may have come already.
    over.acquireUninterruptibly();
  }

  /** Shows a model, which is seen to stay when it is fetched ahead for the next time. */
  private ImportedModel staying() throws IOException {
    ImportedModel one = model("one", "one", drawn());
    run(one);
    awaitAtHand(one);
    daemon.evictions().evict(one.version(), 0);
    run(one);
    later(1);
    assertFalse(fetchAhead());
    later(1);
    assertEquals(4, device.shownPages());
    return one;
  }

  @Test
  void fileThatNobodyCanShowIsDeleted_nothingIsKeptOfItAfterASecond() throws IOException {
    ImportedModel one = model("one", "one", drawn());
    run(one);
    awaitAtHand(one);
    daemon.evictions().evict(one.version(), 0);
    run(one);
    daemon.evictions().evict(one.version(), 0);
    tier.close();
    Files.delete(one.weights());
    assertTrue(isMapped(one.weights()));

    later(1);
    assertFalse(fetchAhead());

    while (isMapped(one.weights())) {
      Thread.onSpinWait();
    }
  }

  private static boolean isMapped(Path file) throws IOException {
    return Files.readString(Path.of("/proc/self/maps")).contains(file.toString());
  }

  @Test
  void pageThatCannotBeCopied_isTriedAgainAfterARest() throws IOException {
    ImportedModel one = staying();
    byte[] weights = Files.readAllBytes(one.weights());
    Files.write(one.weights(), new byte[0]); // As if the disk failed.

    fetchAheadAndWait();
    assertFalse(fetchAhead(), "it rests");
    later(1);
    fetchAheadAndWait();
    later(1);
    assertFalse(fetchAhead(), "it rests for longer");
    assertEquals(4, device.shownPages());

    Files.write(one.weights(), weights);
    later(1);
    for (int page = 3; page >= 0; page--) {
      fetchAheadAndWait();
      assertEquals(page, device.shownPages());
    }
    run(one);
  }

  @Test
  void offlineWorkWaitsForMemory_pagesGetMemoryOfTheirOwnAllTheSame() throws IOException {
    ImportedModel one = staying();
    ImportedModel two = model("two", "two", drawn());
    ImportedModel offline = model("offline", "offline", drawn());
    CompletableFuture<Lease> waiting;
    try (Lease first = daemon.acquire(one.version());
        Lease second = daemon.acquire(two.version())) {
      first.awaitAll();
      second.awaitAll();
      long waits = daemon.counters().waits();
      waiting =
          CompletableFuture.supplyAsync(
              () -> daemon.acquire(offline.version(), Priority.OFFLINE, RunControl.NONE));
      while (daemon.counters().waits() == waits) {
        Thread.onSpinWait();
      }

      while (device.shownPages() > 0) {
        boolean _ = fetchAhead();
        Thread.onSpinWait();
      }
      assertFalse(waiting.isDone());
    }
    waiting.join().close();
  }

  /** Whoever comes between finds that a page is on its way: its time is not known yet. */
  @Test
  void pageHasBeenCopiedAndItsTimeIsNotNoted_theRestIsCountedFromThatAllTheSame() throws Exception {
    ImportedModel one = staying();
    CountDownLatch sent = new CountDownLatch(1);
    Page page = device.pages().take().orElseThrow();
    AddressRange range = device.reserve(PAGE);
    range.map(0, page);
    DeviceEvent before = device.copies().copy(new Waiting(sent), 0, range, 0, PAGE);
    CountDownLatch noted = new CountDownLatch(1);
    try (Lease _ = daemon.acquire(one.version())) {
      timeIsNoted = noted;
      Semaphore over = new Semaphore(0);
      daemon.idleLink().onFree(over::release);
      assertTrue(fetchAhead());
      sent.countDown();
      isBeingNoted.await();
      nanos.addAndGet(1_000_000);

      assertTrue(fetchAhead(), "it is on its way");
      noted.countDown();
      over.acquire();

      assertFalse(fetchAhead());
      assertEquals(16_000_000, daemon.idleLink().restNanos());
      assertEquals(3, device.shownPages());
    } finally { // Else the copy thread would wait for ever.
      sent.countDown();
      noted.countDown();
    }
    before.await();
    device.pages().giveBack(range.unmap(0));
    range.close();
  }

  /** The time; the copy thread waits for it, if that has been said. */
  private long now() {
    CountDownLatch noted = timeIsNoted;
    if (noted != null && Thread.currentThread().getName().equals("pipelane-cpu-copies")) {
      isBeingNoted.countDown();
      try {
        noted.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
    return nanos.get();
  }

  /** A page that is read once somebody says so. */
  private record Waiting(CountDownLatch said) implements WeightSource {
    @Override
    public long byteSize() {
      return PAGE;
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      try {
        said.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    @Override
    public void close() {}
  }

  @Test
  void manyModelsThatTakeEachOthersPages_areAlwaysTheirOwn() throws IOException {
    List<ImportedModel> models = new ArrayList<>();
    byte[] alike = drawn();
    for (int i = 0; i < 6; i++) {
      byte[] weights = i % 2 == 0 ? alike.clone() : drawn();
      weights[BYTES - 1] = (byte) i;
      models.add(model("m" + i, "structure" + i / 3, weights)); // The tier holds four of them.
    }
    List<CompletableFuture<Void>> callers = new ArrayList<>();
    for (int caller = 0; caller < 3; caller++) {
      Random drawing = new Random(caller);
      CompletableFuture<Void> done = new CompletableFuture<>();
      callers.add(done);
      Thread.ofPlatform()
          .start(
              () -> {
                try {
                  for (int i = 0; i < 200; i++) {
                    ImportedModel next = models.get(drawing.nextInt(models.size()));
                    run(next);
                    if (drawing.nextInt(4) == 0) {
                      daemon.evictions().evict(next.version(), drawing.nextInt(3) * (long) PAGE);
                    }
                    later(1); // What has stayed for two of these is copied, as others take it.
                    boolean _ = fetchAhead();
                  }
                  done.complete(null);
                } catch (Throwable e) {
                  done.completeExceptionally(e);
                }
              });
    }
    callers.forEach(CompletableFuture::join);
    assertTrue(daemon.counters().copies() > 0);
  }
}
