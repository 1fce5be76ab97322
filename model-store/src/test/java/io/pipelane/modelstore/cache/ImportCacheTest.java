package io.pipelane.modelstore.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.cache.ImportCache.FolderBuilder;
import io.pipelane.modelstore.cache.ImportCache.Step;
import io.pipelane.modelstore.cache.ImportCache.StepHook;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ImportCacheTest {
  private static final FolderBuilder BUILDER =
      folder -> {
        Files.writeString(folder.resolve("a"), "first");
        Files.writeString(folder.resolve("b"), "second");
      };
  private static final FolderBuilder UNREACHED =
      folder -> {
        throw new AssertionError("built again");
      };

  private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

  @TempDir Path root;

  @ParameterizedTest
  @EnumSource
  void obtain_crashAtAnyStep_leavesAllOrNothing(Step step) throws IOException {
    StepHook crash =
        reached -> {
          if (reached == step) {
            throw new Crash();
          }
        };
    ImportCache crashing = ImportCache.open(root, crash, Clock.systemUTC());
    assertThrows(Crash.class, () -> crashing.obtain("key", BUILDER));

    ImportCache next = ImportCache.open(root);
    assertEquals(step == Step.FLUSH_FOLDER, next.find("key").isPresent());
    assertEquals(List.of(), Folders.list(root.resolve("work")), "leftovers are swept");
    assertWhole(next.obtain("key", BUILDER));
  }

  @Test
  void obtain_found_isNotBuiltAgain() throws IOException {
    ImportCache.open(root).obtain("key", BUILDER);
    assertWhole(ImportCache.open(root).obtain("key", UNREACHED));
  }

  @Test
  void obtain_sameSizeOtherBytes_isBuiltAgainByTheNextProcess() throws IOException {
    Path folder = ImportCache.open(root).obtain("key", BUILDER);
    Files.writeString(folder.resolve("b"), "secomd");
    ImportCache next = ImportCache.open(root);
    assertTrue(next.find("key").isEmpty());
    assertWhole(next.obtain("key", BUILDER));
  }

  @Test
  void obtain_missingFileOrManifest_isBuiltAgain() throws IOException {
    ImportCache cache = ImportCache.open(root);
    Path folder = cache.obtain("key", BUILDER);
    for (String name : List.of("a", "manifest.json")) {
      Files.delete(folder.resolve(name));
      assertTrue(cache.find("key").isEmpty());
      assertWhole(cache.obtain("key", BUILDER));
    }
    Files.writeString(folder.resolve("manifest.json"), "{\"a\":null}");
    assertTrue(cache.find("key").isEmpty());
  }

  @Test
  void obtain_failingBuild_leavesNothingAndCanBeTriedAgain() throws IOException {
    ImportCache cache = ImportCache.open(root);
    FolderBuilder failing =
        folder -> {
          BUILDER.build(folder);
          throw new IOException("disk full");
        };
    assertThrows(IOException.class, () -> cache.obtain("key", failing));
    assertEquals(List.of(), Folders.list(root.resolve("work")));
    assertWhole(cache.obtain("key", BUILDER));
  }

  private static FolderBuilder large(int size, int lastByte) {
    byte[] bytes = new byte[size];
    bytes[size - 1] = (byte) lastByte;
    return folder -> {
      BUILDER.build(folder);
      Files.write(folder.resolve("weights.bin"), bytes);
    };
  }

  private static Object weights(Path folder) throws IOException {
    return Objects.requireNonNull(
        Files.readAttributes(folder.resolve("weights.bin"), BasicFileAttributes.class).fileKey());
  }

  @Test
  void obtain_largeFileThatAnotherKeyHasToo_isOnDiskOnce() throws IOException {
    ImportCache cache = ImportCache.open(root);
    Path one = cache.obtain("one", large(100_000, 1));
    Path same = cache.obtain("same", large(100_000, 1));
    Path other = cache.obtain("other", large(100_000, 2));
    assertEquals(weights(one), weights(same));
    assertNotEquals(weights(one), weights(other));
    assertFalse(Files.isSameFile(one.resolve("a"), same.resolve("a")), "small ones are not shared");
    Folders.delete(one);
    ImportCache next = ImportCache.open(root);
    assertTrue(next.find("same").isPresent(), "each has it for itself");
    next.obtain("one", large(100_000, 1));
    assertEquals(weights(same), weights(one));
  }

  @Test
  void obtain_byManyAtOnce_buildsOnce() throws Exception {
    List<ImportCache> caches = List.of(ImportCache.open(root));
    AtomicInteger builds = new AtomicInteger();
    CountDownLatch started = new CountDownLatch(1);
    FolderBuilder slow =
        folder -> {
          builds.incrementAndGet();
          started.countDown();
          BUILDER.build(folder);
        };
    try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
      List<Future<Path>> results = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        results.add(threads.submit(() -> caches.getFirst().obtain("key", slow)));
      }
      started.await();
      for (Future<Path> result : results) {
        assertWhole(result.get());
      }
    }
    assertEquals(1, builds.get());
  }

  @Test
  void open_entryUnusedFor90DaysAtThePreviousOpening_isDeleted() throws IOException {
    try (ImportCache first = open(0)) {
      first.obtain("gone", BUILDER);
      first.obtain("used", BUILDER);
    }
    try (ImportCache second = open(91)) {
      assertWhole(second.obtain("used", UNREACHED));
      assertTrue(Files.exists(root.resolve("entries/gone")), "its process may have lived so long");
    }
    try (ImportCache third = open(400)) {
      assertFalse(Files.exists(root.resolve("entries/gone")));
      assertWhole(third.obtain("used", UNREACHED));
      open(1000).close();
      assertWhole(third.obtain("used", UNREACHED));
    }
  }

  private ImportCache open(int day) throws IOException {
    Clock clock = Clock.fixed(START.plus(Duration.ofDays(day)), ZoneOffset.UTC);
    return ImportCache.open(root, StepHook.NONE, clock);
  }

  private static void assertWhole(Path folder) throws IOException {
    assertEquals("first", Files.readString(folder.resolve("a")));
    assertEquals("second", Files.readString(folder.resolve("b")));
    assertFalse(Files.exists(folder.resolve("c")));
  }

  /** Ends a publication without any clean-up, as the end of the process would. */
  private static final class Crash extends Error {
    private static final long serialVersionUID = 1L;
  }
}
