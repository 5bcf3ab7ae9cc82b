import { ApiProblem } from "../../api/problem.ts";
import { Notice, ProblemNotice } from "../../common/feedback/Notice.tsx";

/** Why saving failed. Problems of a field are shown beside the field; here only their number. */
export function SaveProblem({ error }: { error: unknown }) {
  if (!error) return null;
  if (error instanceof ApiProblem && error.status === 400 && error.problem.errors?.length) {
    const count = error.problem.errors.length;
    return (
      <Notice tone="bad" title="It was not saved." urgent>
        <p>
          {count === 1
            ? "One thing needs correcting; it is marked above."
            : `${count} things need correcting; they are marked above.`}
        </p>
      </Notice>
    );
  }
  return <ProblemNotice error={error} what="It was not saved." />;
}
