package io.pipelane.modelstore.repository;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ServedVersionsTest {
  private static final List<Long> THERE = List.of(3L, 1L, 2L, 10L);

  @ParameterizedTest
  @CsvSource({
    "all, '[1, 2, 3, 10]'",
    "latest:1, '[10]'",
    "latest:3, '[2, 3, 10]'",
    "latest:9, '[1, 2, 3, 10]'",
    "2, '[2]'",
    "'1,3,7', '[1, 3]'",
  })
  void among_choosesAsTheTextSays(String text, String expected) {
    ServedVersions served = ServedVersions.parse(text);
    assertEquals(expected, served.among(THERE).toString());
    assertEquals(text, served.toString());
  }

  @Test
  void latest_isOneUnlessItSays() {
    assertEquals("latest:1", ServedVersions.parse("latest").toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "none", "latest:0", "latest:-1", "1,", "0", "1;2", "01", "all,1"})
  void parse_ofAnythingElse_isRefused(String text) {
    StatusException refused = assertThrows(StatusException.class, () -> ServedVersions.parse(text));
    assertEquals(Status.INVALID_ARGUMENT, refused.status());
  }

  @Test
  void choice_servesWhatIsNamedInAnyCase() {
    VersionChoice choice =
        VersionChoice.NONE
            .serving(Optional.of(ServedVersions.parse("latest")))
            .with("stable", 2)
            .withStandard("3");
    assertEquals(List.of(2L, 3L, 10L), choice.among(THERE, TritonConfig.NONE));
    assertEquals(List.of("label \"stable\" stands for it"), choice.uses(2));
    assertEquals(
        List.of("label \"stable\" stands for it", "it answers requests that name no version"),
        choice.withStandard("stable").uses(2));
    assertEquals(List.of(), choice.uses(10));
    assertTrue(choice.without("stable").withStandard("").serving(Optional.empty()).isNone());
  }

  @Test
  void labels_areLimited() {
    for (String label : List.of("", "1", "a b", "-a", "a/b", "a".repeat(65))) {
      assertThrows(StatusException.class, () -> VersionChoice.NONE.with(label, 1), label);
    }
    Map<String, Long> many = new HashMap<>();
    for (int i = 0; i < 65; i++) {
      many.put("l" + i, 1L);
    }
    assertThrows(StatusException.class, () -> new VersionChoice(Optional.empty(), "", many));
  }
}
