/** What a test's component gets in the place of a CSS module. */
export default {};
