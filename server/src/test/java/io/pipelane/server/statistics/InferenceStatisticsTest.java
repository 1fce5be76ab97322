package io.pipelane.server.statistics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import java.util.List;
import org.junit.jupiter.api.Test;

class InferenceStatisticsTest {
  private static final Entry READY = new Entry("a", "1", State.READY, "");
  private static final Entry OUT_OF_SERVICE = new Entry("a", "2", State.UNAVAILABLE, "unloaded");
  private static final Entry WITHOUT_VERSION = new Entry("b", "", State.UNAVAILABLE, "empty");

  private final InferenceStatistics statistics = new InferenceStatistics();

  private List<ModelVersion> shown(Entry... repository) {
    return statistics.all(List.of(repository)).stream().map(ModelCounters::version).toList();
  }

  @Test
  void whatIsInServiceIsThere_thoughNobodyHasAsked() {
    assertEquals(List.of(new ModelVersion("a", 1)), shown(OUT_OF_SERVICE, READY, WITHOUT_VERSION));
  }

  @Test
  void whatHasBeenAsked_staysUntilTheRepositoryHasItNoMore() {
    ModelVersion second = new ModelVersion("a", 2);
    ModelCounters asked = statistics.of(second);
    assertEquals(List.of(new ModelVersion("a", 1), second), shown(READY, OUT_OF_SERVICE));
    assertSame(asked, statistics.of(second));
    assertEquals(List.of(new ModelVersion("a", 1)), shown(READY));
    assertEquals(List.of(), shown());
  }
}
