package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.cache.ContentHashes;
import io.pipelane.modelstore.cache.ImportCache;
import io.pipelane.modelstore.importing.Importer.EarlierRefusal;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.CutSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What real processes have refused is refused without one, as long as that holds. */
@Timeout(60)
class RefusedImportTest {
  private static final ModelVersion VERSION = new ModelVersion("m", 1);
  private static final Path SOUND = OrtLibrary.locate(Optional.empty(), SharedCache.folder());
  private static final Duration TIME = Duration.ofSeconds(50);
  private static final ByteSize MEMORY = ByteSize.ofMebibytes(8 << 10);
  private static final ByteSize FILES = ByteSize.ofMebibytes(1);

  /** Whatever begins a process with it is refused otherwise, see {@link #assertTried}. */
  private static final Path GONE = Path.of("/gone/libonnxruntime.so");

  @TempDir private Path folder;
  private Path file = Path.of("");

  @BeforeEach
  void writeCorruptModel() throws IOException {
    file = Files.createDirectories(folder.resolve("m/1")).resolve("model.onnx");
    Files.write(file, new byte[] {1, 2, 3, 4, 5, 6, 7});
  }

  private Importer importer(Path library) throws IOException {
    return importer(library, TIME, MEMORY, FILES);
  }

  private Importer importer(Path library, Duration time, ByteSize memory, ByteSize files)
      throws IOException {
    return Importer.open(folder.resolve("cache"), settings(library, time, memory, files));
  }

  private static ImportSettings settings(
      Path library, Duration time, ByteSize memory, ByteSize files) {
    return new ImportSettings(
        library,
        "1.28.0",
        Optimization.ALL,
        new CutSettings(1, 16),
        time,
        memory,
        files,
        ImportTarget.processor());
  }

  private StatusException refusal(Importer importer, EarlierRefusal earlier) {
    return assertThrows(
        StatusException.class, () -> importer.importModel(file, VERSION, Map.of(), earlier));
  }

  private static void assertTried(StatusException refusal) {
    String reason = String.valueOf(refusal.getMessage());
    assertFalse(reason.contains("remembered"), reason);
  }

  private static String remembered(StatusException refusal) {
    String reason = String.valueOf(refusal.getMessage());
    int added = reason.indexOf(" (remembered of an earlier import");
    assertTrue(added > 0, reason);
    return reason.substring(0, added);
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(folder.resolve("cache/refusals"))) {
      return files.toList();
    }
  }

  @Test
  void refusedModel_isRefusedAlikeWithoutAProcess_untilItsOwnerAsksAgain() throws IOException {
    StatusException first = refusal(importer(SOUND), EarlierRefusal.HOLDS);
    assertTried(first);
    Importer next = importer(GONE);
    StatusException again = refusal(next, EarlierRefusal.HOLDS);
    assertEquals(first.status(), again.status());
    assertEquals(first.getMessage(), remembered(again));

    assertTried(refusal(next, EarlierRefusal.IS_TRIED_AGAIN));
    assertEquals(first.getMessage(), remembered(refusal(next, EarlierRefusal.HOLDS)));
  }

  /** The poll finds it just then, whom a remembered refusal is answer enough. */
  @Test
  void ownerWhoAsksAgain_besideSomebodyWhoDoesNot_isNotToldWhatIsRemembered() throws Exception {
    assertTried(refusal(importer(SOUND), EarlierRefusal.HOLDS));
    CountDownLatch finds = new CountDownLatch(1);
    CountDownLatch goesOn = new CountDownLatch(1);
    InstantSource onceFound =
        () -> {
          finds.countDown();
          try {
            goesOn.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
          return Instant.now();
        };
    Path cache = folder.resolve("cache");
    Importer next =
        new Importer(
            ImportCache.open(cache),
            Refusals.open(cache.resolve("refusals"), 10, onceFound.withZone(ZoneOffset.UTC)),
            ContentHashes.open(cache.resolve("hashes.json"), Clock.systemUTC()),
            () -> settings(GONE, TIME, MEMORY, FILES),
            new ImportTurns(1));
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<StatusException> poll = threads.submit(() -> refusal(next, EarlierRefusal.HOLDS));
      finds.await();
      AtomicReference<Thread> owner = new AtomicReference<>(Thread.currentThread());
      Future<StatusException> load =
          threads.submit(
              () -> {
                owner.set(Thread.currentThread());
                return refusal(next, EarlierRefusal.IS_TRIED_AGAIN);
              });
      while (owner.get().getState() != Thread.State.WAITING) { // For what the poll comes to.
        LockSupport.parkNanos(1_000_000);
      }
      goesOn.countDown();
      String _ = remembered(poll.get());
      assertTried(load.get());
    }
  }

  @Test
  void otherContentOrLimit_isTried() throws IOException {
    StatusException first = refusal(importer(SOUND), EarlierRefusal.HOLDS);
    ByteSize other = ByteSize.ofMebibytes(9 << 10);
    for (Importer changed :
        List.of(
            importer(GONE, TIME.plusSeconds(1), MEMORY, FILES),
            importer(GONE, TIME, other, FILES),
            importer(GONE, TIME, MEMORY, other))) {
      assertTried(refusal(changed, EarlierRefusal.HOLDS));
    }
    assertEquals(first.getMessage(), remembered(refusal(importer(GONE), EarlierRefusal.HOLDS)));
    Files.write(file, new byte[] {1, 2, 3, 4, 5, 6, 8});
    assertTried(refusal(importer(GONE), EarlierRefusal.HOLDS));
  }

  @Test
  void damagedRefusal_isTried() throws IOException {
    assertTried(refusal(importer(SOUND), EarlierRefusal.HOLDS));
    Files.writeString(files().getFirst(), "damage");
    assertTried(refusal(importer(GONE), EarlierRefusal.HOLDS));
  }

  /** The process ends before it can look at the model. */
  @Test
  void failureOfTheMachine_isNotRemembered() throws IOException {
    TestModels.write(TestModels.identity(), file);
    assertTried(refusal(importer(GONE), EarlierRefusal.HOLDS));
    assertEquals(List.of(), files());
    importer(SOUND).importModel(file, VERSION);
  }

  /** Its turn comes with a time limit of nothing at first, as if it computed for too long. */
  @Test
  void modelThatIsTakenAfterAll_isRefusedNoMore() throws IOException {
    TestModels.write(TestModels.identity(), file);
    ImportSettings usual = settings(SOUND, TIME, MEMORY, FILES);
    List<ImportSettings> asked =
        new ArrayList<>(List.of(usual, settings(SOUND, Duration.ZERO, MEMORY, FILES)));
    Importer importer =
        Importer.open(
            folder.resolve("cache"), () -> asked.isEmpty() ? usual : asked.removeFirst(), 1);
    String first = String.valueOf(refusal(importer, EarlierRefusal.HOLDS).getMessage());
    assertTrue(first.contains("raise import.timeout"), first);
    assertEquals(first, remembered(refusal(importer, EarlierRefusal.HOLDS)));
    importer.importModel(file, VERSION, Map.of(), EarlierRefusal.IS_TRIED_AGAIN);
    assertEquals(List.of(), files());
    importer.importModel(file, VERSION);
  }

  /** What is refused for a GPU says nothing of the processor, and the other way round. */
  @Test
  void refusal_countsForItsProviderAlone() throws IOException {
    String first = String.valueOf(refusal(importer(SOUND), EarlierRefusal.HOLDS).getMessage());
    StatusException ofGpu = refusal(gpuImporter(SOUND, TIME), EarlierRefusal.HOLDS);
    assertTried(ofGpu);
    assertEquals(2, files().size());
    assertEquals(first, remembered(refusal(importer(GONE), EarlierRefusal.HOLDS)));
    assertEquals(
        ofGpu.getMessage(), remembered(refusal(gpuImporter(GONE, TIME), EarlierRefusal.HOLDS)));
  }

  /** This machine's ONNX Runtime has no provider for a GPU, as where one's libraries are gone. */
  @Test
  void gpuWithoutItsLibraries_isNotTheModelsFault() throws IOException {
    TestModels.write(TestModels.identity(), file);
    StatusException refused = refusal(gpuImporter(SOUND, TIME), EarlierRefusal.HOLDS);
    assertTrue(String.valueOf(refused.getMessage()).contains("CUDA"), refused.getMessage());
    assertEquals(List.of(), files());
    importer(SOUND).importModel(file, VERSION);
  }

  /** Who waits for a GPU computes, too. */
  @Test
  void timeLimitOfAnImportForAGpu_isNotRemembered() throws IOException {
    StatusException late = refusal(gpuImporter(SOUND, Duration.ZERO), EarlierRefusal.HOLDS);
    assertTrue(String.valueOf(late.getMessage()).contains("import.timeout"), late.getMessage());
    assertEquals(List.of(), files());
    assertTried(refusal(gpuImporter(SOUND, Duration.ZERO), EarlierRefusal.HOLDS));
  }

  private Importer gpuImporter(Path library, Duration time) throws IOException {
    ImportTarget gpu = ImportTarget.cuda(0, true, "a GPU that is not there");
    return Importer.open(
        folder.resolve("cache"), settings(library, time, MEMORY, FILES).withTarget(gpu));
  }

  /** What is refused then may be neither the content before nor the one after. */
  @Test
  void filesThatChangeMeanwhile_areNotRemembered() throws Exception {
    Importer importer = importer(SOUND);
    Path work = folder.resolve("cache/work");
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<?> change =
          threads.submit(
              () -> {
                while (isEmpty(work)) {
                  LockSupport.parkNanos(100_000);
                }
                return Files.writeString(file.resolveSibling("weights.data"), "w");
              });
      assertEquals(Status.UNAVAILABLE, refusal(importer, EarlierRefusal.HOLDS).status());
      change.get();
    }
    assertEquals(List.of(), files());
  }

  private static boolean isEmpty(Path folder) throws IOException {
    try (Stream<Path> entries = Files.list(folder)) {
      return entries.findAny().isEmpty();
    }
  }

  /** So a start has it beside what was imported, before what is new. */
  @Test
  void refusedModel_isKnown_onceItsHashIs() throws IOException {
    Importer importer = importer(SOUND);
    assertFalse(importer.knows(file, Map.of()));
    do { // What a file that has just been written holds is not remembered.
      StatusException _ = refusal(importer, EarlierRefusal.HOLDS);
      LockSupport.parkNanos(10_000_000);
    } while (!Files.exists(folder.resolve("cache/hashes.json")));
    assertTrue(importer.knows(file, Map.of()));
    Files.delete(files().getFirst());
    assertFalse(importer.knows(file, Map.of()));
  }
}
