package io.pipelane.modelstore.repository;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StateOptionsTest {
  private static Map<String, StateInput> state(String yaml) {
    return ModelOptionsFile.parse(yaml.getBytes(StandardCharsets.UTF_8)).state();
  }

  @Test
  void state_isAnInputsName_orSaysWhatItBeginsAs() {
    assertEquals(
        Map.of(
            "stateN",
            new StateInput("state"),
            "present.0",
            new StateInput("past.0", List.of(StateInput.ROWS, 8L, 0L, 64L)),
            "count",
            new StateInput("counted")),
        state(
            """
            state:
              stateN: state
              present.0: {input: past.0, begins: [rows, 8, 0, 64]}
              count: {input: counted}
            """));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "state: [a]                             | OUTPUT: INPUT",
        "state: {t: 1}                          | {input: NAME, begins: [SIZE, ...]}",
        "state: {t: {begins: [1]}}              | {input: NAME, begins: [SIZE, ...]}",
        "state: {t: {input: s, begin: [1]}}     | state.t.begin",
        "state: {t: {input: s, begins: 1}}      | state.t.begins is 1; allowed are",
        "state: {t: {input: s, begins: []}}     | state.t.begins is []",
        "state: {t: {input: s, begins: [-1]}}   | state.t.begins is [-1]",
        "state: {t: {input: s, begins: [rows1]}} | state.t.begins is [\"rows1\"]"
      })
  void state_thatIsNone_isRefusedByItsKey(String yaml, String reason) {
    StatusException refusal = assertThrows(StatusException.class, () -> state(yaml));
    assertEquals(Status.INVALID_ARGUMENT, refusal.status());
    assertTrue(String.valueOf(refusal.getMessage()).contains(reason), refusal.getMessage());
  }
}
