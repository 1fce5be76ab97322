package io.pipelane.config.section;

import static io.pipelane.config.section.SectionValues.DEFAULTS;
import static io.pipelane.config.section.SectionValues.changed;
import static io.pipelane.config.section.SectionValues.size;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.ConfigException;
import io.pipelane.config.ConfigLoader;
import io.pipelane.config.value.ModelName;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Sections of where models lie, are prepared and run: by default, and every value changed. */
class ModelSectionsTest {
  @Test
  void workers_defaults() {
    assertEquals(
        new WorkersConfig(
            WorkersConfig.Isolation.AUTO,
            WorkersConfig.SwitchOn.FAULT,
            2,
            WorkersConfig.Offline.SHARED,
            Duration.ofSeconds(30),
            Duration.ofSeconds(60),
            size("128MiB"),
            false),
        DEFAULTS.workers());
  }

  @Test
  void workers_everyValueChanged() {
    assertEquals(
        new WorkersConfig(
            WorkersConfig.Isolation.PROCESS,
            WorkersConfig.SwitchOn.TENANT,
            3,
            WorkersConfig.Offline.OWN,
            Duration.ofMillis(500),
            Duration.ofSeconds(5),
            size("64MiB"),
            true),
        changed(
                Map.of(
                    "workers.isolation", "process",
                    "workers.switch", "tenant",
                    "workers.standbys", "3",
                    "workers.offline", "own",
                    "workers.hang-timeout", "500ms",
                    "workers.start-timeout", "5s",
                    "workers.heap", "64MiB",
                    "workers.zero-pages", "true"))
            .workers());
  }

  @ParameterizedTest
  @CsvSource({"auto,false,true", "thread,false,false", "process,true,true"})
  void workers_isolation_isByTheDeviceUnlessItIsSaid(
      String isolation, boolean onProcessor, boolean onGpu) {
    WorkersConfig workers = changed(Map.of("workers.isolation", isolation)).workers();

    assertEquals(onProcessor, workers.usesProcesses(false));
    assertEquals(onGpu, workers.usesProcesses(true));
  }

  @Test
  void repository_defaults() {
    assertEquals(
        new RepositoryConfig(
            Optional.empty(),
            Optional.empty(),
            Path.of("/home/someone/.cache/pipelane"),
            Duration.ZERO,
            false,
            size("4GiB")),
        DEFAULTS.repository());
  }

  @Test
  void repository_everyValueChanged() {
    assertEquals(
        new RepositoryConfig(
            Optional.of(Path.of("models")),
            Optional.of(new ModelName("my model")),
            Path.of("/home/someone/derived"),
            Duration.ofSeconds(30),
            false,
            size("1MiB")),
        changed(
                Map.of(
                    "repository.path", "models",
                    "repository.model-name", "my model",
                    "repository.cache", "~/derived",
                    "repository.poll", "30s",
                    "repository.upload-limit", "1MiB"))
            .repository());
  }

  @Test
  void upload_isForFoldersOfModels() {
    assertTrue(changed(Map.of("repository.upload", "true")).repository().upload());
    Map<String, String> both = Map.of("repository.upload", "true", "repository.model-name", "m");
    assertThrows(ConfigException.class, () -> changed(both));
  }

  @Test
  void repositoryCache_withXdgVariable_liesBelowIt() {
    Map<String, String> environment = Map.of("HOME", "/home/someone", "XDG_CACHE_HOME", "/fast");
    assertEquals(
        Path.of("/fast/pipelane"),
        ConfigLoader.load(null, environment, Map.of()).config().repository().cache());
  }

  @Test
  void import_defaults() {
    assertEquals(
        new ImportConfig(
            Duration.ofMinutes(5),
            size("16GiB"),
            size("16GiB"),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            1),
        DEFAULTS.imports());
  }

  @Test
  void import_everyValueChanged() {
    assertEquals(
        new ImportConfig(
            Duration.ofSeconds(9),
            size("2500MiB"),
            size("1GB"),
            Optional.of(size("64KiB")),
            Optional.of(256),
            Optional.of(500),
            2),
        changed(
                Map.of(
                    "import.timeout", "9s",
                    "import.memory", "2500MiB",
                    "import.max-file-size", "1GB",
                    "import.min-segment", "64KiB",
                    "import.max-segments", "256",
                    "import.max-segment-micros", "500",
                    "import.concurrency", "2"))
            .imports());
  }

  @Test
  void runtime_defaults() {
    assertEquals(
        new RuntimeConfig(
            Optional.empty(), 1, RuntimeConfig.Optimization.ALL, true, size("4MiB"), true, 2),
        DEFAULTS.runtime());
  }

  @Test
  void runtime_everyValueChanged() {
    assertEquals(
        new RuntimeConfig(
            Optional.of(Path.of("/opt/ort")),
            8,
            RuntimeConfig.Optimization.BASIC,
            false,
            size("1MiB"),
            false,
            9),
        changed(
                Map.of(
                    "runtime.library", "/opt/ort",
                    "runtime.threads", "8",
                    "runtime.optimization", "Basic",
                    "runtime.tf32", "false",
                    "runtime.cublas-workspace", "1MiB",
                    "runtime.capture", "false",
                    "runtime.capture-after", "9"))
            .runtime());
  }

  @Test
  void queue_defaults() {
    assertEquals(new QueueConfig(4096, size("512MiB")), DEFAULTS.queue());
  }

  @Test
  void queue_everyValueChanged() {
    QueueConfig queue =
        changed(Map.of("queue.max-requests", "64", "queue.max-bytes", "64MiB")).queue();
    assertEquals(new QueueConfig(64, size("64MiB")), queue);
    assertNotEquals(DEFAULTS.queue(), queue);
  }

  @Test
  void scheduling_defaults() {
    assertEquals(
        new SchedulingConfig(
            SchedulingConfig.Policy.SRTF,
            10,
            SchedulingConfig.FairMeasure.SERVICE,
            true,
            0,
            true,
            50,
            0,
            0),
        DEFAULTS.scheduling());
  }

  @Test
  void scheduling_everyValueChanged() {
    assertEquals(
        new SchedulingConfig(
            SchedulingConfig.Policy.PACK,
            0,
            SchedulingConfig.FairMeasure.MEMORY,
            false,
            20,
            false,
            0,
            2,
            3),
        changed(
                Map.of(
                    "scheduling.policy", "pack",
                    "scheduling.ageing-percent", "0",
                    "scheduling.fair-measure", "memory",
                    "scheduling.fair-work-conserving", "false",
                    "scheduling.offline-share-percent", "20",
                    "scheduling.preemption", "false",
                    "scheduling.short-run-micros", "0",
                    "scheduling.least-lanes", "2",
                    "scheduling.restarts", "3"))
            .scheduling());
  }
}
