package io.pipelane.server.statistics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.pipelane.modelstore.ModelVersion;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class InferenceStatisticsTest {
  private static final ModelVersion FIRST = new ModelVersion("a", 1);
  private static final ModelVersion SECOND = new ModelVersion("a", 2);

  private final InferenceStatistics statistics = new InferenceStatistics();

  private List<ModelVersion> shown(Map<ModelVersion, Boolean> repository) {
    return statistics.all(() -> repository).stream().map(ModelCounters::version).toList();
  }

  @Test
  void whatIsInServiceIsThere_thoughNobodyHasAsked() {
    assertEquals(List.of(FIRST), shown(Map.of(SECOND, false, FIRST, true)));
  }

  @Test
  void whatIsAskedWhileTheRepositoryIsRead_stays() {
    List<ModelCounters> shown =
        statistics.all(
            () -> {
              ModelCounters _ = statistics.of(SECOND);
              return Map.of(FIRST, true);
            });
    assertEquals(List.of(FIRST, SECOND), shown.stream().map(ModelCounters::version).toList());
  }

  @Test
  void whatHasBeenAsked_staysUntilTheRepositoryHasItNoMore() {
    ModelCounters asked = statistics.of(SECOND);
    assertEquals(List.of(FIRST, SECOND), shown(Map.of(FIRST, true, SECOND, false)));
    assertSame(asked, statistics.of(SECOND));
    assertEquals(List.of(FIRST), shown(Map.of(FIRST, true)));
    assertEquals(List.of(), shown(Map.of()));
  }
}
